/** What each official client does here, in lines of JSON over stdin and stdout: it signs in, uses every tool, watches, answers a question, refreshes. */
import { createInterface } from 'node:readline'

export const config = JSON.parse(process.argv[2] ?? '{}')
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

/** Asks the test for something, and resolves with its answer. */
export async function ask(request) {
  process.stdout.write(`${JSON.stringify(request)}\n`)
  const { value } = await input.next()
  return JSON.parse(value)
}

/** The store of an application: what the client saves, and the way through the browser, which is the test. */
export function createProvider() {
  const saved = {}
  return {
    saved,
    refreshes: 0,
    redirectUrl: config.redirectUri,
    clientMetadataUrl: config.document,
    clientMetadata: { client_name: 'Research Assistant', redirect_uris: [config.redirectUri] },
    clientInformation: () => saved.information,
    saveClientInformation(information) {
      saved.information = information
    },
    tokens: () => saved.tokens,
    saveTokens(tokens) {
      if (saved.tokens !== undefined) this.refreshes++
      saved.tokens = tokens
    },
    saveCodeVerifier(verifier) {
      saved.verifier = verifier
    },
    codeVerifier: () => saved.verifier,
    async redirectToAuthorization(url) {
      saved.answer = await ask({ authorize: String(url) })
    },
  }
}

/** `client`: connected. Returns what the test asserts. */
export async function converse(client, { provider, listen } = {}) {
  const found = { asked: config.asked?.length ?? 0 }
  const { tools } = await client.listTools()
  found.tools = tools.map(({ name }) => name)
  found.called = {}
  for (const [name, args] of Object.entries(config.calls)) {
    const { content, isError } = await client.callTool({ name, arguments: args })
    found.called[name] = `${isError === true ? 'error: ' : ''}${content[0].text}`
  }
  const { resources } = await client.listResources()
  found.resources = resources.map(({ uri }) => uri)
  const { contents } = await client.readResource({ uri: 'gatehouse://table/trades' })
  found.resource = contents[0].text
  const { prompts } = await client.listPrompts()
  found.prompts = prompts.map(({ name }) => name)
  found.prompt = (
    await client.getPrompt({ name: 'explore_table', arguments: { table: 'trades' } })
  ).messages[0].content.text
  const ref = { type: 'ref/prompt', name: 'explore_table' }
  found.completed = (await client.complete({ ref, argument: { name: 'table', value: 'tra' } })).completion.values

  const watched = await client.callTool({ name: 'watch', arguments: { ...config.watch, format: 'json' } })
  const { id, since } = watched.structuredContent
  await ask({ write: true })
  const args = { id, since, wait: 20, format: 'json' }
  found.changes = (await client.callTool({ name: 'changes', arguments: args })).structuredContent.put

  const question = await client.callTool({ name: 'query', arguments: { statement: config.expensive } })
  found.question = `${question.isError === true ? 'error: ' : ''}${question.content[0].text}`

  if (listen !== undefined) found.updated = await listen(`gatehouse://watch/${id}`, () => ask({ write: true }))
  if (provider !== undefined) {
    provider.saved.tokens = { ...provider.saved.tokens, access_token: 'no.longer.valid' }
    found.refreshed = (
      await client.callTool({ name: 'query', arguments: { statement: 'SELECT 1 AS one' } })
    ).content[0].text
    found.refreshes = provider.refreshes
  }
  return found
}

export function finish(found) {
  process.stdout.write(`${JSON.stringify({ found })}\n`)
  process.exit(0)
}
