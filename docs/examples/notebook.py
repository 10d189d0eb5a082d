"""A chat memory with an interface of its own, to be mapped: threads, entries of parts, a key, pages, a system prompt.

python notebook.py 8091

POST   /threads                    {"owner": "ada"}                    201 {"thread": {"id": 17}}
POST   /threads/17/entries         {"author": "human", "parts": [{"text": "hello"}]}   201 {"entry": 2}
GET    /threads/17/entries?size=2&before=9                             200 {"entries": […], "before": 7}
DELETE /threads/17                                                     204
GET    /documents/{name}                                               200 {"version": 3, "lines": […]}
PUT    /documents/{name}           {"version": 3, "lines": […]}        204, or 409 if it was written meanwhile

Entries are listed newest first, 20 to a page; "before" is null on the last page. Every request needs X-Notebook-Key.
"""

import itertools
import os
import sys

from aiohttp import web

KEY = os.environ.get("NOTEBOOK_KEY", "let-me-in")
numbers = itertools.count(17)
threads = {}
documents = {}


@web.middleware
async def guard(request, handler):
    if request.headers.get("X-Notebook-Key") != KEY:
        return web.json_response({"error": "the key is missing or wrong"}, status=401)
    return await handler(request)


def entries_of(request):
    number = int(request.match_info["thread"])
    if number not in threads:
        raise web.HTTPNotFound(text="there is no such thread")
    return threads[number]


async def new_thread(request):
    owner, number = (await request.json())["owner"], next(numbers)
    prompt = f"You help {owner}."
    threads[number] = [{"number": 1, "author": "system", "parts": [{"text": prompt}]}]
    return web.json_response({"thread": {"id": number}}, status=201)


async def write(request):
    entries, new = entries_of(request), await request.json()
    if new["author"] not in ("human", "ai"):
        raise web.HTTPUnprocessableEntity(text="author is human or ai")
    entries.append({"number": len(entries) + 1, "author": new["author"], "parts": new["parts"]})
    return web.json_response({"entry": len(entries)}, status=201)


async def read(request):
    entries = entries_of(request)
    before = int(request.query.get("before", len(entries) + 1))
    size = min(int(request.query.get("size", 20)), 50)
    page = [entry for entry in reversed(entries) if entry["number"] < before][:size]
    more = page and page[-1]["number"] > 1
    return web.json_response({"entries": page, "before": page[-1]["number"] if more else None})


async def forget(request):
    entries_of(request)
    del threads[int(request.match_info["thread"])]
    return web.Response(status=204)


async def read_document(request):
    return web.json_response(documents.get(request.match_info["name"], {"version": 0, "lines": []}))


async def write_document(request):
    new, name = await request.json(), request.match_info["name"]
    if new["version"] != documents.get(name, {"version": 0})["version"]:
        raise web.HTTPConflict(text="it was written meanwhile")
    documents[name] = {"version": new["version"] + 1, "lines": new["lines"]}
    return web.Response(status=204)


app = web.Application(middlewares=[guard], client_max_size=16 * 1024 * 1024)
app.router.add_post("/threads", new_thread)
app.router.add_post("/threads/{thread}/entries", write)
app.router.add_get("/threads/{thread}/entries", read)
app.router.add_delete("/threads/{thread}", forget)
app.router.add_get("/documents/{name}", read_document)
app.router.add_put("/documents/{name}", write_document)

if __name__ == "__main__":
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]))
