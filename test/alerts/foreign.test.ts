/**
 * Receivers of others: the libraries of Standard Webhooks, http_ece and py-vapid (those of pywebpush) for Python, aiosmtpd, Microsoft's
 * adaptivecards. They need PyPI and the npm registry.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createECDH, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { findToolchain, runCommand } from '../../scripts/examples/samples.ts'
import { root } from '../support/clone.ts'
import { ALICE } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { findAiosmtpd, type OtherMailServer, startAiosmtpd } from '../support/mail-servers.ts'
import { npm } from '../support/npm.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { MAIL_PASSWORD, MAIL_USER } from '../support/smtp-server.ts'
import { until } from '../support/until.ts'
import { AlertClient } from './alert-client.ts'

const FOLDER = join(root, 'test/alerts/foreign')
const CACHE = join(root, 'node_modules/.cache/alert-receivers')
const PYTHON = join(CACHE, 'bin/python')
/** What a hostile row may have. */
const HOSTILE = '<!channel> {{id}} & <https://example.com|click> **bold** é'

interface Sent {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

const missing = await prepare()

/** Installs the libraries. Resolves with why that is impossible here, or false. */
async function prepare(): Promise<string | false> {
  const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
  if (python.kind === 'missing') return `${python.reason}; it needs Python 3.10 or later`
  const made = await runCommand(['python3', '-m', 'venv', CACHE], { cwd: FOLDER, seconds: 300 })
  if (made.status !== 0) return 'needs the module venv of Python (on Debian the package python3-venv)'
  const pip = [PYTHON, '-m', 'pip', '--disable-pip-version-check', 'install', '--quiet', '-r', 'requirements.txt']
  const installed = await runCommand(pip, { cwd: FOLDER, seconds: 300 })
  return installed.status === 0 ? false : `needs PyPI or its cache: ${installed.output.slice(0, 200)}`
}

describe('receivers of others', { skip: missing }, () => {
  let server: TestServer
  let receiver: Server
  let origin: string
  let mail: OtherMailServer
  let alice: AlertClient
  let leave: () => Promise<void>
  let secret: string
  let folder = ''
  const sent: Sent[] = []
  const ecdh = createECDH('prime256v1')
  const browser = { p256dh: ecdh.generateKeys().toString('base64url'), auth: randomBytes(16).toString('base64url') }

  before(async () => {
    receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
      sent.push({ path: request.url ?? '', headers: Object.fromEntries(headers), body: Buffer.concat(chunks) })
      response.writeHead(201).end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
    const opened = await openPlace('sqlite')
    leave = opened.leave
    const python = await findAiosmtpd()
    if (typeof python === 'string') throw new Error(python)
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-mail-'))
    mail = await startAiosmtpd(python.python, folder)
    server = await startTestServer(opened.place, {
      flags: {
        '--demo': 'true',
        '--alert-private': 'true',
        '--mail-url': `smtp://${MAIL_USER}@127.0.0.1:${mail.port}`,
        '--mail-from': 'Gate <gate@example.com>',
        '--mail-password': MAIL_PASSWORD,
      },
    })
    alice = await AlertClient.signIn(server, ALICE)
    const admin = await AlertClient.signIn(server)
    secret = await admin.declareChannel('hook', `${origin}/hook`)
    for (const format of ['slack', 'teams'])
      await admin.call('POST', '/admin/channels', {
        ...{ name: format, kind: 'webhook', format, secret: `${origin}/${format}`, private: true },
        use: 'Platform/Market',
      })
    await alice.call('POST', '/alerts/push', { endpoint: `${origin}/push`, keys: browser })
    await admin.query(
      "CREATE TABLE notes (id Integer PRIMARY KEY, text Text NOT NULL) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
    )
    await alice.create({
      name: 'Notes',
      statement: 'SELECT id, text FROM notes',
      title: '{{text}}',
      text: 'of {{id}}: {{text}}',
      group: '0 seconds',
      channels: ['hook', 'slack', 'teams', 'push', 'mail'],
    })
    await alice.query(`INSERT INTO notes VALUES (1, '${HOSTILE}')`)
    await until('all have it', 15_000, () => sent.length >= 4)
  })
  after(async () => {
    await server?.stop()
    await mail?.close()
    receiver?.close()
    await leave?.()
    await rm(folder, { recursive: true, force: true })
  })

  const at = (path: string): Sent => {
    const found = sent.find((each) => each.path === path)
    assert.ok(found, path)
    return found
  }

  test('standardwebhooks of PyPI verifies a webhook, and refuses a changed one', async () => {
    const { headers, body } = at('/hook')
    const request = { kind: 'webhook', secret, headers, body: body.toString() }
    const [genuine, changed] = await verify([request, { ...request, body: request.body.replace('firing', 'resolved') }])
    assert.equal(genuine?.read?.data.title, HOSTILE)
    assert.match(changed?.error ?? '', /WebhookVerificationError/)
  })

  test('http_ece and py-vapid decrypt and verify a message to a browser, and another browser cannot', async () => {
    const { headers, body } = at('/push')
    const request = {
      ...{ kind: 'push', private: ecdh.getPrivateKey().toString('base64url'), auth: browser.auth },
      ...{ authorization: headers.authorization, endpoint: `${origin}/push`, body: body.toString('base64url') },
    }
    const other = createECDH('prime256v1')
    other.generateKeys()
    const [own, stolen] = await verify([request, { ...request, private: other.getPrivateKey().toString('base64url') }])
    assert.equal(own?.read?.title, HOSTILE, own?.error)
    assert.ok(stolen?.error)
  })

  test('aiosmtpd takes the mail, whose Message-ID is that of the delivery', async () => {
    await until('there is a mail', 15_000, async () => (await mail.received()).length > 0)
    const [first] = await mail.received()
    assert.equal(first?.to, 'alice@example.com')
    const { items } = await alice.call('GET', '/alerts')
    const deliveries = (await alice.call('GET', `/alerts/${items[0].id}/deliveries`)).items
    const { id } = deliveries.find(({ channel }: { channel: string }) => channel === 'mail')
    assert.ok(/^Message-ID: <([^@>]+)@/im.exec(first?.text ?? '')?.[1]?.includes(id), first?.text)
  })

  test('adaptivecards parses the card of Teams without a fault, and its texts are no markup', async () => {
    const message = JSON.parse(at('/teams').body.toString())
    assert.equal(message.type, 'message')
    const [{ contentType, content }] = message.attachments
    assert.equal(contentType, 'application/vnd.microsoft.card.adaptive')
    await mkdir(CACHE, { recursive: true })
    await writeFile(join(CACHE, 'package.json'), '{"private":true}')
    await npm(['install', '--no-save', '--loglevel=error', 'adaptivecards@3.0.6'], CACHE)
    const program = `
      const { AdaptiveCard, SerializationContext, Versions } = require('adaptivecards/dist/adaptivecards.js')
      const card = new AdaptiveCard()
      const context = new SerializationContext(Versions.v1_4)
      card.parse(JSON.parse(process.argv[1]), context)
      const faults = Array.from({ length: context.eventCount }, (_, index) => context.getEventAt(index).message)
      console.log(JSON.stringify({ faults, items: card.getItemCount(), card: card.toJSON() }))`
    const { status, output } = await runCommand([process.execPath, '-e', program, JSON.stringify(content)], {
      cwd: CACHE,
      seconds: 60,
    })
    assert.equal(status, 0, output)
    const parsed = JSON.parse(output)
    assert.deepEqual([parsed.faults, parsed.items], [[], 2])
    // Text runs take no Markdown: what was written is what is read.
    assert.equal(parsed.card.body[0].inlines[0].text, HOSTILE)
  })

  test("Slack's three characters are escaped, so that no value becomes a mention or a link", () => {
    const body = JSON.parse(at('/slack').body.toString())
    assert.deepEqual(Object.keys(body), ['text'])
    const escaped = HOSTILE.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    assert.ok(body.text.startsWith(`*${escaped}*\nof 1: ${escaped}\n<http`), body.text)
  })
})

interface Verified {
  // biome-ignore lint/suspicious/noExplicitAny: what was sent has many shapes
  readonly read?: any
  readonly error?: string
}

async function verify(requests: readonly object[]): Promise<readonly Verified[]> {
  const child = spawn(PYTHON, [join(FOLDER, 'verify.py')], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(requests.map((request) => `${JSON.stringify(request)}\n`).join(''))
  const answers: Verified[] = []
  for await (const line of createInterface({ input: child.stdout })) answers.push(JSON.parse(line))
  assert.equal(answers.length, requests.length)
  return answers
}
