"""A chat memory in one file, to point goldfish at: sessions in a dictionary, three requests.

python tiny_memory.py 8090
goldfish run --host http://127.0.0.1:8090 -u 20 -t 20
"""

import sys
from collections import defaultdict

from aiohttp import web

users = defaultdict(list)


async def append(request):
    messages = (await request.json())["messages"]
    session = request.match_info["session"]
    history = users[request.match_info["user"]]
    for message in messages:
        history.append({**message, "session": session})
    return web.json_response({"stored": [{"id": m["id"], "seq": 0} for m in messages]}, status=201)


async def recall(request):
    session = request.match_info.get("session")
    listed = [m for m in users[request.match_info["user"]] if session in (None, m["session"])]
    if "limit" in request.query:
        listed = listed[-int(request.query["limit"]) :]
    return web.json_response({"messages": listed})


async def forget(request):
    user, session = request.match_info["user"], request.match_info["session"]
    users[user] = [m for m in users[user] if m["session"] != session]
    return web.Response(status=204)


app = web.Application()
app.router.add_post("/v1/users/{user}/sessions/{session}/messages", append)
app.router.add_get("/v1/users/{user}/sessions/{session}/messages", recall)
app.router.add_get("/v1/users/{user}/messages", recall)
app.router.add_delete("/v1/users/{user}/sessions/{session}", forget)

if __name__ == "__main__":
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]))
