"""The same two requests with the same bytes, and nobody looks at the answers."""

from itertools import count

NUMBERS = count()
TEXT = (
    "[gfaaaaaa-0-17-s0-phone-4-1qz] " + "I ordered on Monday, the number is 4711-0815. When will it be delivered? " * 2
)


def turn(user):
    """Append two messages, recall twenty."""
    number = next(NUMBERS)
    if not hasattr(user, "path"):
        user.path = f"/v1/users/u{number}/sessions/s/messages"
    messages = [
        {"id": f"gfaaaaaa-0-17-s0-phone-{number}-{half}", "role": role, "content": TEXT}
        for half, role in enumerate(("user", "assistant"))
    ]
    headers = {"X-Request-Id": f"w0-{number}"}
    user.client.post(user.path, json={"messages": messages}, name="append", headers=headers)
    user.client.get(f"{user.path}?limit=20", name="recall", headers=headers)
