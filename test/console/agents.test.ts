/** Agents in the console, in a real Chromium: what users asked for, which are allowed, which are connected; and the page where people consent. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask } from '../support/agents.ts'
import { ALICE, type ConsoleScene, openConsole } from '../support/console.ts'
import { type DocumentServer, serveDocuments } from '../support/foreign-issuer.ts'
import { createUserAgent, requirePage } from '../support/user-agent.ts'

let scene: ConsoleScene
let agents: DocumentServer
let host: string
let client: string

before(async () => {
  agents = await serveDocuments()
  host = new URL(agents.origin).host
  client = `${agents.origin}/agent.json`
  agents.documents.set('/agent.json', {
    client_id: client,
    client_name: 'Research Assistant',
    redirect_uris: [`${agents.origin}/answer`],
    token_endpoint_auth_method: 'none',
  })
  agents.documents.set('/answer', (_request, response) => response.end('<title>Back at the assistant</title>'))
  scene = await openConsole({ flags: { '--client-jwks-private': 'true' } })
})
after(async () => {
  await scene?.stop()
  await agents?.close()
})

/** What the assistant asks for. */
function request(): URL {
  const url = new URL(`${scene.server.issuer}/connect/authorize`)
  const parameters = {
    ...{ client_id: client, redirect_uri: `${agents.origin}/answer`, response_type: 'code' },
    ...{ code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', resource: `${scene.server.issuer}/mcp` },
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}

test('what a user asked for is allowed with a button, connected by its user, and ended', async () => {
  const view = await scene.open('/applications/agents')
  const { page } = view
  await page.getByRole('cell', { name: 'All agents' }).waitFor()
  await page
    .getByRole('row', { name: /All agents/ })
    .getByRole('button', { name: 'Remove' })
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('No agent is allowed yet').waitFor()
  assert.deepEqual(await view.axe(), [])

  const agent = createUserAgent({ home: scene.server.issuer })
  const connecting = { issuer: scene.server.issuer, client, redirectUri: `${agents.origin}/answer` }
  assert.equal(requirePage((await ask(agent, connecting, ALICE)).page).status, 403)
  await page.reload()
  const asked = page.getByRole('row', { name: new RegExp(host) })
  await asked.getByRole('button', { name: 'Allow' }).click()
  const dialog = page.getByRole('dialog')
  assert.equal(await dialog.getByLabel('Host or client id').inputValue(), host)
  assert.deepEqual(await view.axe(), [])
  await dialog.getByRole('button', { name: 'Allow' }).click()
  await page.getByRole('cell', { name: 'All that agents can have' }).waitFor()

  const person = await scene.open('/query', { user: ALICE })
  await person.page.goto(request().href)
  await person.page.getByText('It calls itself “Research Assistant”.', { exact: false }).waitFor()
  assert.deepEqual(await person.axe(), [])
  await person.page.locator('#consent-allow').click()
  await person.page.waitForURL(/\/answer\?code=/)
  await person.close()

  await page.reload()
  const connected = page.getByRole('row', { name: new RegExp(`${host}.*alice`) })
  await connected.getByRole('button', { name: 'End' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End' }).click()
  await page.getByText('No agent is connected').waitFor()
  view.check()
  await view.close()
})

test('a fault is shown in the dialog; the wizard registers an agent', async () => {
  const view = await scene.open('/applications/agents')
  const { page } = view
  await page.getByRole('button', { name: 'Allow agents' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Host or client id').fill('Claude.ai')
  await dialog.getByRole('button', { name: 'Allow' }).click()
  await dialog.getByText(/write it as claude\.ai/).waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()

  await page.goto(`${scene.server.issuer}/console/applications/new?kind=agent`)
  await page.getByLabel('Name', { exact: true }).fill('Desk Assistant')
  await page.getByRole('textbox', { name: 'redirect URI 1' }).fill('https://desk.example.com/callback')
  await page.getByRole('checkbox', { name: 'Platform/News' }).check()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByText('claude mcp add').waitFor()
  view.check(/422/)
  await view.close()
})

/** For people who look: AGENT_PICTURES names a folder. */
test('pictures', { skip: process.env.AGENT_PICTURES === undefined }, async () => {
  for (const [name, options] of [
    ['light', {}],
    ['dark', { dark: true }],
    ['phone', { width: 390 }],
  ] as const) {
    const view = await scene.open('/applications/agents', options)
    await view.page.getByText('Allowed').first().waitFor()
    await view.page.screenshot({ path: `${process.env.AGENT_PICTURES}/agents-${name}.png`, fullPage: true })
    await view.page.goto(request().href)
    await view.page.screenshot({ path: `${process.env.AGENT_PICTURES}/consent-${name}.png`, fullPage: true })
    const own = request()
    own.searchParams.set('client_id', 'gatehouse-agent')
    own.searchParams.set('redirect_uri', 'http://127.0.0.1:33418/callback')
    await view.page.goto(own.href)
    await view.page.screenshot({ path: `${process.env.AGENT_PICTURES}/device-${name}.png`, fullPage: true })
    await view.close()
  }
})
