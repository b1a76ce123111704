/** The code that the console shows for an application, run as it is: shells, Node and Python, where this machine has them. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LATE_MS = 60_000
const TOKEN = /[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/
let server: TestServer
let leave: () => Promise<void>
let admin: Gatehouse

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startTestServer(opened.place, { flags: { '--demo': 'true' } })
  admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
})
after(async () => {
  admin?.close()
  await server?.stop()
  await leave?.()
})

/** As in the console, whose types need those of a page. */
interface Snippets {
  buildMetadata(kind: string, draft: object): object
  kindSnippets(kind: string, values: object): readonly { readonly title: string; readonly code: string }[]
}
const AREA = '../../packages/console/src/areas/applications'
const [kinds, snippets] = await Promise.all(['kinds', 'snippets'].map((name) => import(`${AREA}/${name}.ts`)))
const { buildMetadata, kindSnippets }: Snippets = { ...kinds, ...snippets }

/** Registers an application as the wizard does. */
async function connect(kind: 'server' | 'native' | 'device' | 'service', redirectUri = '') {
  const id = `snippet-${kind}`
  const draft = {
    name: id,
    id,
    signedOutUris: [],
    origins: [],
    scopes: ['profile', 'Platform/Market'],
    offline: false,
    isOurs: false,
  }
  const client = await admin.admin.clients.create(buildMetadata(kind, { ...draft, redirectUris: [redirectUri] }))
  const { client_secret: secret = '' } = client as { client_secret?: string }
  const values = {
    issuer: server.issuer,
    clientId: id,
    redirectUri,
    signedOutUri: undefined,
    scope: client.scope ?? '',
  }
  const shown = kindSnippets(kind, values)
  return { secret, readCode: (title: string) => shown.find((snippet) => snippet.title === title)?.code ?? '' }
}

interface Program {
  /** What it has written, once it matches. */
  writes(pattern: RegExp): Promise<string>
  /** All that it has written, when it has ended well. */
  readonly end: Promise<string>
  type(text: string): void
  stop(): void
}

function start(command: string, args: readonly string[], code: string, env: Record<string, string> = {}): Program {
  const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, ...env } })
  let [output, faults] = ['', '']
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (faults += chunk))
  if (code !== '') child.stdin.end(code)
  const end = new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => (status === 0 ? resolve(output) : reject(new Error(`${status}: ${faults}`))))
  })
  end.catch(() => {})
  return {
    end,
    async writes(pattern) {
      const failed = end.then(() => {})
      await Promise.race([until(String(pattern), LATE_MS, () => pattern.test(output)), failed])
      return pattern.exec(output)?.[1] ?? ''
    },
    type: (text) => child.stdin.end(text),
    stop: () => child.kill(),
  }
}

const python = (code: string, env?: Record<string, string>) => start('python3', ['-u', '-'], code, env)

/** The library of this repository, the others from its packages. */
async function node(code: string, env?: Record<string, string>): Promise<Program> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: ROOT, loader: 'js' },
    alias: { 'gatehouse-client': `${ROOT}/packages/client/src/index.ts` },
    packages: 'external',
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    logLevel: 'error',
  })
  return start(process.execPath, ['--input-type=module', '-'], outputFiles[0]?.text ?? '', env)
}

/** The commands of a shell, which are separated by empty lines. */
function splitCommands(code: string): string[] {
  return code.split(/\n\n/).filter((text) => text.trim() !== '')
}

const shell = (code: string, env?: Record<string, string>) => start('sh', ['-euc', code], '', env)

/** Alice signs in and agrees; resolves with where she is sent, or with the last page. */
async function signIn(address: string): Promise<string> {
  const agent = createUserAgent({ home: server.issuer })
  const { end } = await visit(agent, await agent.get(address), ALICE)
  return end.url.href
}

/** Where the user is sent who has cancelled this sign-in. */
function declined(address: string): string {
  const { searchParams: asked } = new URL(address)
  const back = new URL(asked.get('redirect_uri') ?? '')
  const answer = { error: 'access_denied', state: asked.get('state') ?? '', iss: server.issuer }
  back.search = new URLSearchParams(answer).toString()
  return back.href
}

function lacks(command: string, ...args: readonly string[]): string | false {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0 ? false : `no ${[command, ...args].join(' ')} here`
}
const lacksCurl = lacks('curl', '--version') || lacks('openssl', 'version')
const lacksRequests = lacks('python3', '-c', 'import requests')
const lacksAuthlib = lacks('python3', '-c', 'import requests, authlib')

test('service: curl and Python get a token and read rows', async (t) => {
  const { readCode, secret } = await connect('service')
  const env = { CLIENT_SECRET: secret }
  await t.test('curl', { skip: lacksCurl }, async () => {
    assert.match(await shell(readCode('curl'), env).end, /instruments/)
  })
  await t.test('Python', { skip: lacksRequests }, async () => {
    assert.match(await python(readCode('Python'), env).end, /instruments/)
  })
})

test('device: a code is shown, and entering it gives a token', async (t) => {
  const { readCode } = await connect('device')
  const programs: [string, () => Promise<Program>, string | false][] = [
    ['gatehouse-client', () => node(readCode('gatehouse-client')), false],
    ['openid-client', () => node(readCode('openid-client')), false],
    ['Python', async () => python(readCode('Python')), lacksRequests],
  ]
  // At the same time: each waits some seconds before it asks for its token.
  const running = programs.map(([title, begin, skip]) =>
    t.test(title, { skip }, async () => {
      const program = await begin()
      const code = await program.writes(/enter (\S+)/)
      await signIn(`/device?user_code=${code}`)
      assert.match(await program.end, /instruments/)
    }),
  )
  await t.test('curl', { skip: lacksCurl }, async () => {
    const [begin = '', ...rest] = splitCommands(readCode('curl'))
    const program = shell([begin, 'read -r signed_in', ...rest].join('\n\n'))
    await signIn(`/device?user_code=${await program.writes(/"user_code":"([^"]+)"/)}`)
    program.type('\n')
    assert.match(await program.end, /instruments/)
  })
  await Promise.all(running)
})

test('native: a program on the same computer signs its user in', async (t) => {
  const { readCode } = await connect('native', 'http://127.0.0.1/callback')
  await t.test('openid-client', async () => {
    const program = await node(readCode('openid-client'))
    const address = await program.writes(/Open (\S+)/)
    assert.match(await (await fetch(declined(address))).text(), /did not succeed\. Open the address again/)
    const back = await signIn(address)
    assert.equal(await (await fetch(back)).text(), 'You can close this window.')
    assert.match(await program.end, /sub: '/)
  })
  await t.test('curl', { skip: lacksCurl }, async () => {
    const program = shell(readCode('curl'))
    const back = new URL(await signIn(await program.writes(/(\S+code_challenge=\S+)/)))
    program.type(`${back.searchParams.get('code')}\n`)
    assert.match(await program.end, new RegExp(`"access_token":"${TOKEN.source}"`))
  })
  await t.test('Python', { skip: lacksAuthlib }, async () => {
    const program = start('python3', ['-uc', readCode('Python')], '')
    program.type(`${await signIn(await program.writes(/Open (\S+)/))}\n`)
    assert.match(await program.end, /Alice Liddell/)
  })
})

test('server: an application with a secret greets its user', async () => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const { readCode, secret } = await connect('server', `${origin}/callback`)
  const program = await node(readCode('openid-client'), { CLIENT_SECRET: secret, SESSION_SECRET: 'a secret of a test' })
  try {
    const begun = await untilReached(`${origin}/sign-in`)
    const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const address = begun.headers.get('location') ?? ''
    const refused = await fetch(declined(address), { headers: { cookie } })
    assert.match(await refused.text(), /did not succeed\. <a href="\/sign-in">Try again/)
    const back = await signIn(address)
    assert.equal(await (await fetch(back, { headers: { cookie } })).text(), 'Hello, Alice Liddell')
  } finally {
    program.stop()
  }
})

async function untilReached(address: string): Promise<Response> {
  let reply: Response | undefined
  await until(address, LATE_MS, async () => {
    reply = await fetch(address, { redirect: 'manual' }).catch(() => undefined)
    return reply !== undefined
  })
  assert.ok(reply !== undefined)
  return reply
}
