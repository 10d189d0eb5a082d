-- The counter of a user numbers everything the user does, in all sessions: its row lock, held until commit,
-- makes the order of the numbers the order of the commits.
create table journal_user (
    tenant text, user_id text,
    head bigint not null,
    primary key (tenant, user_id)
);

-- The number of the last change of a session. The row goes when the session is deleted; a session of the same name
-- that comes later starts above it, because the user's counter never goes back.
create table journal_session (
    tenant text, user_id text, session_id text,
    head bigint not null,
    primary key (tenant, user_id, session_id)
);

create table journal_message (
    tenant text, user_id text, session_id text, seq bigint,
    message_id text not null,
    role text not null,
    content text not null,
    created_at timestamptz not null,
    primary key (tenant, user_id, session_id, seq),
    constraint journal_message_id unique (tenant, user_id, session_id, message_id)
);

create unique index journal_message_user on journal_message (tenant, user_id, seq);
