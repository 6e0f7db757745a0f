"""Which addresses a judge call may reach where private networks are forbidden, and how much an answer may hold."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator

import anyio
import httpx2

from judging.faults import CallFailed

PRIVATE = "The endpoint's address lies in a private network, which this server does not call: use a public host."
LARGEST_ANSWER = 10_000_000  # bytes; token probabilities of a long reply take some hundred thousand


class Transport(httpx2.AsyncHTTPTransport):
    """Reads no more of an answer than `LARGEST_ANSWER`."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Limited(response.stream)
        return response


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST_ANSWER:
                raise CallFailed(
                    f"The endpoint's answer is larger than {LARGEST_ANSWER:,} bytes: limit the tokens of a reply."
                )
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class PublicOnly(Transport):
    """Connects to public addresses alone. The name is resolved once and the connection made to the very address that
    was checked, so that a name cannot change its address between the check and the call."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        address = await public_address(host, request.url.port or 443)
        request.extensions = {**request.extensions, "sni_hostname": host}  # certificates are checked for the name
        request.url = request.url.copy_with(host=address)
        return await super().handle_async_request(request)


async def public_address(host: str, port: int) -> str:
    """An address of `host`, all of whose addresses are public. Raises CallFailed."""
    try:
        found = await anyio.getaddrinfo(host, port)
    except (OSError, UnicodeError) as error:
        raise CallFailed(f"The host name {host} cannot be found: check the base URL.", endpoint_down=True) from error
    addresses = [str(entry[4][0]).split("%")[0] for entry in found]
    if not addresses or not all(is_public(address) for address in addresses):
        raise CallFailed(PRIVATE, endpoint_down=True)
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address is global, looking through IPv6 forms that stand for an IPv4 address."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in ipaddress.ip_network("64:ff9b::/96"):
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast
