"""The reference memory service: an aiohttp application on PostgreSQL and Redis, with defects that can be switched on."""
