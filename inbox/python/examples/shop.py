"""An API whose POST takes effect once for each Idempotency-Key.

ONCEWARD_DSN='postgresql://me@localhost/shop' uvicorn shop:app
curl -i localhost:8000/orders -H 'Idempotency-Key: o-1' \\
    -H 'Content-Type: application/json' -d '{"item": "tea"}'
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import psycopg
from fastapi import Depends, FastAPI, Request
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel

from onceward_inbox import Inbox, OncewardMiddleware

pool = AsyncConnectionPool(os.environ["ONCEWARD_DSN"], open=False)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with pool:
        async with pool.connection() as connection:
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS orders "
                "(id bigint GENERATED ALWAYS AS IDENTITY, item text)"
            )
            await connection.execute("SELECT onceward.register_ledger('orders')")
        yield


app = FastAPI(lifespan=lifespan)
app.add_middleware(
    OncewardMiddleware, inbox=Inbox("shop", ledger="orders"), connect=pool.connection
)


def transaction(request: Request) -> Any:
    """The connection of the request's transaction. It is committed after the answer was made."""
    return request.state.onceward


class Order(BaseModel):
    item: str


@app.post("/orders", status_code=201)
async def place(
    order: Order, tx: Annotated[psycopg.AsyncConnection[Any], Depends(transaction)]
) -> dict[str, Any]:
    cursor = await tx.execute("INSERT INTO orders (item) VALUES (%s) RETURNING id", [order.item])
    [number] = await cursor.fetchall()
    return {"id": number[0], "item": order.item}
