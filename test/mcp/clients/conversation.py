"""The Python SDK, of the first line (2025-11-25) or of the second (both eras): signs in, uses every tool, watches, answers a question, refreshes."""

import json
import sys
from contextlib import AsyncExitStack
from importlib.metadata import version
from urllib.parse import parse_qs

import anyio
from mcp.client.auth import OAuthClientProvider

IS_SECOND = version("mcp").startswith("2.")
config = json.loads(sys.argv[1])


async def ask(request):
    """Asks the test for something, and returns its answer."""
    print(json.dumps(request), flush=True)
    return json.loads(await anyio.to_thread.run_sync(sys.stdin.readline))


class Storage:
    tokens = None
    client = None
    saves = 0

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        self.saves += 1

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


storage = Storage()
answer = {}
questions = []


async def redirect(url):
    answer.update(await ask({"authorize": url}))


async def callback():
    if not IS_SECOND:
        return answer["code"], answer["state"]
    from mcp.client.auth import AuthorizationCodeResult

    return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer.get("iss"))


async def elicit(context, params):
    questions.append(params.message)
    from mcp.types import ElicitResult

    return ElicitResult(action="accept", content={"run": True})


def provide():
    from mcp.shared.auth import OAuthClientMetadata

    metadata = OAuthClientMetadata(
        client_name="Research Assistant",
        redirect_uris=[config["redirectUri"]],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    return OAuthClientProvider(
        server_url=config["url"],
        client_metadata=metadata,
        storage=storage,
        redirect_handler=redirect,
        callback_handler=callback,
        client_metadata_url=config["document"],
    )


async def open_client(stack, provider):
    """Both lines as the second one's methods."""
    if IS_SECOND:
        import httpx2
        from mcp import Client, StdioServerParameters
        from mcp.client.streamable_http import streamable_http_client

        if provider is None:
            command, *args = config["command"]
            server = StdioServerParameters(command=command, args=args, env=config["environment"])
        else:
            http = await stack.enter_async_context(httpx2.AsyncClient(auth=provider, timeout=60))
            server = streamable_http_client(config["url"], http_client=http)
        client = Client(server, mode=config["mode"], elicitation_callback=elicit)
        await stack.enter_async_context(client)
        return client, client.protocol_version
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    if provider is None:
        command, *args = config["command"]
        opening = stdio_client(StdioServerParameters(command=command, args=args, env=config["environment"]))
    else:
        opening = streamablehttp_client(config["url"], auth=provider)
    read, write, *_ = await stack.enter_async_context(opening)
    session = await stack.enter_async_context(ClientSession(read, write, elicitation_callback=elicit))
    initialized = await session.initialize()
    return session, initialized.protocolVersion


def structured(result):
    return result.structured_content if IS_SECOND else result.structuredContent


def text(result):
    failed = result.is_error if IS_SECOND else result.isError
    return ("error: " if failed else "") + result.content[0].text


async def main():
    found = {}
    provider = None if "command" in config else provide()
    async with AsyncExitStack() as stack:
        client, found["version"] = await open_client(stack, provider)
        found["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        found["called"] = {}
        for name, args in config["calls"].items():
            found["called"][name] = text(await client.call_tool(name, args))
        found["resources"] = [str(resource.uri) for resource in (await client.list_resources()).resources]
        uri = "gatehouse://table/trades"
        if not IS_SECOND:
            from pydantic import AnyUrl

            uri = AnyUrl(uri)
        found["resource"] = (await client.read_resource(uri)).contents[0].text
        found["prompts"] = [prompt.name for prompt in (await client.list_prompts()).prompts]
        prompt = await client.get_prompt("explore_table", {"table": "trades"})
        found["prompt"] = prompt.messages[0].content.text
        from mcp.types import PromptReference

        ref = PromptReference(type="ref/prompt", name="explore_table")
        completed = await client.complete(ref, {"name": "table", "value": "tra"})
        found["completed"] = completed.completion.values

        watched = structured(await client.call_tool("watch", {**config["watch"], "format": "json"}))
        await ask({"write": True})
        args = {"id": watched["id"], "since": watched["since"], "wait": 20, "format": "json"}
        found["changes"] = structured(await client.call_tool("changes", args))["put"]
        found["question"] = text(await client.call_tool("query", {"statement": config["expensive"]}))
        found["questions"] = questions

        if IS_SECOND and config["mode"] != "legacy":
            async with client.listen(resource_subscriptions=["gatehouse://watch/" + watched["id"]]) as events:
                await ask({"write": True})
                async for event in events:
                    found["updated"] = str(event.uri)
                    break
        if provider is not None:
            found["client"] = storage.client.client_id
            storage.tokens.access_token = "no.longer.valid"
            provider.context.current_tokens.access_token = "no.longer.valid"
            provider.context.token_expiry_time = 1
            saves = storage.saves
            found["refreshed"] = text(await client.call_tool("query", {"statement": "SELECT 1 AS one"}))
            found["refreshes"] = storage.saves - saves
    print(json.dumps({"found": found}), flush=True)


anyio.run(main)
