-- One row a user, its history a list of {"id","seq","role","content","created_at","session"}.
create table user_profile (
    tenant text, user_id text,
    history json not null,
    primary key (tenant, user_id)
);
