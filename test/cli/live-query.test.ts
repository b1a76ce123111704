/** `gatehouse query --live` against a server of scripted server-sent events. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { launchGatehouse, runGatehouse } from '../support/process.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000
const PROGRAM = fileURLToPath(new URL('../../packages/server/bin/gatehouse.js', import.meta.url))
const base = mkdtempSync(join(tmpdir(), 'gatehouse-live-'))
const tokenFile = join(base, 'token.txt')
let token = ''
const COLUMNS = { symbol: { Ordinal: 0, Type: 'Text' }, bid: { Ordinal: 1, Type: 'Decimal(18, 4)' } }

interface Request {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly response: ServerResponse
  /** Sends an event, after the head of the response. */
  send(kind: string, data: object, id?: string): void
}
const requests: Request[] = []
let address = ''

const server = createServer(async (incoming, response) => {
  let body = ''
  for await (const chunk of incoming) body += chunk
  const send = (kind: string, data: object, id?: string): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    response.write(`event: ${kind}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`)
  }
  requests.push({ url: incoming.url ?? '', headers: incoming.headers, body, response, send })
})

before(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // A token is sent to its issuer only.
  const claims = Buffer.from(JSON.stringify({ iss: address })).toString('base64url')
  token = `e30.${claims}.c2ln`
  writeFileSync(tokenFile, `${token}\n`)
})
afterEach(() => {
  for (const { response } of requests.splice(0)) response.destroy()
})
after(() => {
  server.close()
  rmSync(base, { recursive: true, force: true })
})

const login = () => ['--server', address, '--token-file', tokenFile]

async function request(number: number): Promise<Request> {
  await until(`request ${number} arrives`, LATE_MS, () => requests.length >= number)
  const found = requests[number - 1]
  assert.ok(found)
  return found
}

const entry = ([symbol, bid]: readonly [string, string]) => ({ Key: [symbol], Row: { symbol, bid } })
const snapshot = (...rows: readonly (readonly [string, string])[]) => ({
  Kind: 'Snapshot',
  Method: 'keys',
  Key: ['symbol'],
  Columns: COLUMNS,
  Put: rows.map(entry),
  More: false,
})
const change = (put: readonly (readonly [string, string])[], remove: readonly string[] = []) => ({
  Kind: 'Change',
  Put: put.map(entry),
  Remove: remove.map((symbol) => [symbol]),
})

test('in a pipe changes are lines; a lost connection resumes at the last position, and Ctrl-C ends it', async (t) => {
  const { child, output, ended } = launchGatehouse([
    'query',
    '--live',
    'select symbol, bid from prices where bid > :least',
    '-p',
    'least=1',
    '--max-rate',
    '5',
    ...login(),
  ])
  t.after(() => child.kill())
  const first = await request(1)
  assert.equal(first.url, '/query?p.least=1')
  assert.deepEqual(
    [first.headers.accept, first.headers.authorization, first.headers['last-event-id']],
    ['text/event-stream', `Bearer ${token}`, undefined],
  )
  const Statement = 'select symbol, bid from prices where bid > :least'
  assert.deepEqual(JSON.parse(first.body), { Statement, Parameters: {}, MaxRate: 5 })
  first.send('snapshot', snapshot(['ACME', '101.2500'], ['\u001b[31mX', '2.0000']), 'p1')
  first.send('change', change([['ACME', '101.3000']], ['\u001b[31mX']), 'p2')
  // A piece without its end is not applied, and comes again.
  first.send('change', { ...change([['BOLT', '1.0000']]), More: true })
  await until('the changes are printed', LATE_MS, () => output().stdout.includes('-\t'))
  first.response.destroy()
  const second = await request(2)
  assert.equal(second.headers['last-event-id'], 'p2')
  second.send('change', { ...change([['BOLT', '48.1000']]), Recovered: true }, 'p3')
  second.send('reset', { Kind: 'Reset', Reason: 'Rights' })
  second.send('snapshot', snapshot(['BOLT', '48.1000'], ['CORN', '4.3200']), 'p4')
  await until('the snapshot is printed', LATE_MS, () => output().stdout.includes('CORN'))
  child.kill('SIGINT')
  assert.equal(await ended, 0)
  assert.deepEqual(output().stdout.split('\n'), [
    ' \tsymbol\tbid',
    '+\tACME\t101.2500',
    '+\t\\u001b[31mX\t2.0000',
    '-\t\\u001b[31mX\t2.0000',
    '~\tACME\t101.3000',
    '+\tBOLT\t48.1000',
    '-\tACME\t101.3000',
    '+\tCORN\t4.3200',
    '',
  ])
  assert.match(output().stderr, /; reconnecting\ngatehouse: the result starts over \(Rights\)\n$/)
})

test('with --json each message is a line, as it was sent', async (t) => {
  const { child, output, ended } = launchGatehouse(['query', '--live', '--json', 'select 1 as a', ...login()])
  t.after(() => child.kill())
  const { url, send, response } = await request(1)
  assert.equal(url, '/query')
  send('snapshot', { Kind: 'Snapshot', Put: [] }, 'p1')
  send('progress', { Kind: 'Progress', Position: 'p2' }, 'p2')
  await until('both are printed', LATE_MS, () => output().stdout.split('\n').length === 3)
  assert.equal(output().stdout, '{"Kind":"Snapshot","Put":[]}\n{"Kind":"Progress","Position":"p2"}\n')
  // A token that has expired is replaced; a statement that someone ended is not requested again.
  send('end', { status: 401, Code: 'Auth.InvalidToken', detail: 'The access token has expired' })
  response.end()
  const again = await request(2)
  assert.equal(again.headers['last-event-id'], 'p2')
  again.send('end', { status: 503, Code: 'Limit.Cancelled', detail: 'no' })
  const third = await request(3)
  third.send('end', { status: 409, Code: 'Operation.Abort', detail: 'Ended by an operator', Hint: 'ask them' })
  assert.equal(await ended, 1)
  assert.match(output().stderr, /gatehouse: Operation\.Abort: Ended by an operator\nhint: ask them\n$/)
})

test('a refusal has its position and hint; the first connection is not tried twice', async () => {
  const running = runGatehouse(['query', '--live', 'select bdi from quotes', ...login()])
  const { response } = await request(1)
  const Position = { Offset: 7, Line: 1, Column: 8 }
  const problem = { status: 400, Code: 'IQL.UnknownColumn', detail: 'There is no column bdi', Position, Hint: 'bid?' }
  response.writeHead(400, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
  const refused = await running
  assert.deepEqual([refused.status, refused.stdout], [1, ''])
  assert.equal(
    refused.stderr,
    'gatehouse: IQL.UnknownColumn: There is no column bdi\n1 | select bdi from quotes\n           ^\nhint: bid?\n',
  )
  const old = runGatehouse(['query', '--live', 'select 1 as a', ...login()])
  ;(await request(2)).response.writeHead(200, { 'content-type': 'application/json' }).end('{"Rows":[]}')
  assert.match((await old).stderr, /has no live queries/)
  const usage = await runGatehouse(['query', '--live', '--csv', 'select 1 as a', ...login()])
  assert.deepEqual([usage.status, /not CSV/.test(usage.stderr)], [2, true])
  const rate = await runGatehouse(['query', '--max-rate', '3', 'select 1 as a', ...login()])
  assert.deepEqual([rate.status, /needs --live/.test(rate.stderr)], [2, true])
})

const hasScript = spawnSync('script', ['--version']).error === undefined
test('in a terminal only the lines that changed are drawn, and the screen is restored', {
  skip: !hasScript && 'the program script is not installed',
}, async (t) => {
  const command = [process.execPath, PROGRAM, 'query', '--live', "'select symbol, bid from prices'", ...login()]
  const args = ['-qfec', `stty cols 40 rows 8; exec ${command.join(' ')}`, '/dev/null']
  // Where CI is set, Node takes a terminal to have no colours.
  const { CI: _, ...environment } = process.env
  const child = spawn('script', args, { env: { ...environment, TERM: 'xterm-256color' } })
  t.after(() => child.kill())
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const { send } = await request(1)
  send('snapshot', snapshot(['ACME', '101.2500'], ['BOLT', '48.1000']), 'p1')
  await until('the table is drawn', LATE_MS, () => shown.includes('48.1000'))
  assert.ok(shown.startsWith('\u001b[?1049h\u001b[?25l\u001b[?7l'), JSON.stringify(shown))
  const drawn = shown.length
  send('change', change([['BOLT', '48.0900']]), 'p2')
  await until('the new price is drawn', LATE_MS, () => shown.slice(drawn).includes('48.0900'))
  const since = shown.slice(drawn)
  assert.match(since, /\u001b\[4HBOLT.*\u001b\[31m 48\.0900\u001b\[0m/)
  assert.ok(!since.includes('ACME') && !since.includes('101.2500'), JSON.stringify(since))
  child.stdin.write('q')
  assert.equal(await ended, 0)
  assert.match(shown, /\u001b\[\?1049l2 rows, 1 change\r?\n$/)
})
