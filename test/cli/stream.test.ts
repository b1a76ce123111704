/** `gatehouse stream` against a running server, and the parser of its lines. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { completeLine, KNOWN_TOPICS, parseLine } from '../../packages/server/src/cli/stream/line.ts'
import { PendingMessages } from '../../packages/server/src/cli/stream/pending.ts'
import { authController } from '../../packages/server/src/streaming/controllers/auth.ts'
import { createPlatformController, Feeds } from '../../packages/server/src/streaming/controllers/platform.ts'
import { Controllers } from '../../packages/server/src/streaming/controllers/registry.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { freePort } from '../support/free-port.ts'
import { runInProcess } from '../support/in-process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect } from '../support/stream-client.ts'

let server: TestServer
let place: TestPlace
let leave: () => Promise<void>
let address: string

before(async () => {
  ;({ place, leave } = await openPlace('sqlite'))
  server = await startTestServer(place, { flags: { '--demo': 'true', '--stream-drain-time': '0.1' } })
  address = `http://127.0.0.1:${server.port}`
})
after(async () => {
  await server.stop()
  await leave()
})

const parse = (line: string) => parseLine(line, () => 7)

test('a line is a request, a subscription, a message or a command', () => {
  for (const [line, text] of [
    ['Platform/QueryServerInfo', '{"Controller":"Platform","Topic":"QueryServerInfo","TransactionID":7}'],
    ['  Ticker/Price/ACME  ', '{"Controller":"Ticker","Topic":"Price/ACME","TransactionID":7}'],
    [
      'Auth/Configure {"ActionTimeout": "00:00:05"}',
      '{"Controller":"Auth","Topic":"Configure","TransactionID":7,"Data":{"ActionTimeout":"00:00:05"}}',
    ],
    ['sub Auth/Identify', '{"Controller":"Auth","Topic":"Identify","Action":"Sub","TransactionID":7,"Confirm":true}'],
    [
      'unsub Auth/Identify',
      '{"Controller":"Auth","Topic":"Identify","Action":"Unsub","TransactionID":7,"Confirm":true}',
    ],
    ['cancel 12', '{"Action":"Cancel","TransactionID":12}'],
    ['{"Topic":"X"}', '{"Topic":"X"}'],
  ] as const) {
    assert.deepEqual(parse(line), { kind: 'message', text })
  }
  assert.deepEqual(parse('signin alice'), { kind: 'signin', username: 'alice' })
  assert.deepEqual(parse('quit'), { kind: 'quit' })
  for (const line of ['', '  ', '# a comment']) assert.deepEqual(parse(line), { kind: 'nothing' })
  for (const line of ['nonsense', 'sub', 'sub nonsense', 'cancel', 'cancel x', 'signin', 'A/B {', '/X', 'X/']) {
    assert.throws(() => parse(line), { name: 'UsageError' }, line)
  }
})

test('Tab completes commands and topics; after sub and unsub only topics', () => {
  assert.deepEqual(completeLine('Auth/Q', KNOWN_TOPICS), [
    ['Auth/QueryConfigure', 'Auth/QueryIdentify', 'Auth/QueryNonce'],
    'Auth/Q',
  ])
  assert.deepEqual(completeLine('sub Auth/I', KNOWN_TOPICS), [['Auth/Identify'], 'Auth/I'])
  assert.deepEqual(completeLine('su', KNOWN_TOPICS), [['sub '], 'su'])
  assert.deepEqual(completeLine('unsub su', KNOWN_TOPICS), [[], 'su'])
})

test('the completed topics are those of every server', () => {
  const info = { Name: '', Class: '', Version: '' }
  const controllers = new Controllers([authController, createPlatformController(info, new Feeds([]))])
  assert.deepEqual([...KNOWN_TOPICS].sort(), controllers.names().sort())
})

test('in a pipe: sends lines, prints messages in order, and ends when all requests are answered', async () => {
  const stdin =
    'Platform/QueryServerInfo\n# a comment\n{"Controller":"Auth","Topic":"QueryIdentify","TransactionID":9007199254740993}\n'
  const { status, stdout, stderr } = await runInProcess(['stream', address], { stdin })
  assert.equal(status, 0, stderr)
  const [info = '', identity = '', ...rest] = stdout.trim().split('\n')
  assert.equal(JSON.parse(info).Data.Class, 'Gatehouse')
  assert.equal(
    identity,
    '{"Controller":"Auth","Topic":"QueryIdentify","Action":"Publish","TransactionID":9007199254740993,"Data":{"Result":"Reject"}}',
  )
  assert.deepEqual(rest, [])
})

test('in a pipe: signs in with a password file or a token file', async () => {
  const passwordFile = join(place.dataFolder, 'password.txt')
  await writeFile(passwordFile, 'wonderland-1\n')
  const byPassword = await runInProcess(
    ['stream', server.issuer, '--username', 'alice', '--password-file', passwordFile],
    {
      stdin: 'Auth/QueryIdentify\n',
    },
  )
  assert.equal(byPassword.status, 0, byPassword.stderr)
  assert.equal(JSON.parse(byPassword.stdout).Data.UserID, 'alice')

  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'demo-cli',
    username: 'alice',
    password: 'wonderland-1',
  })
  const reply = await fetch(`${address}/connect/token`, { method: 'POST', body })
  const tokenFile = join(place.dataFolder, 'token.txt')
  await writeFile(tokenFile, `${((await reply.json()) as { access_token: string }).access_token}\n`)
  const byToken = await runInProcess(['stream', server.issuer, '--token-file', tokenFile, '--version', '2.0'], {
    stdin: 'Auth/QueryIdentify\n',
  })
  assert.equal(byToken.status, 0, byToken.stderr)
  assert.ok(JSON.parse(byToken.stdout).Data.ExpiresIn)
})

test('failures are one line: a wrong password, an unreachable server, a wrong option', async () => {
  const passwordFile = join(place.dataFolder, 'wrong.txt')
  await writeFile(passwordFile, 'wrong\n')
  const emptyFile = join(place.dataFolder, 'empty.txt')
  await writeFile(emptyFile, '\n')
  for (const [status, args, message] of [
    [
      1,
      [server.issuer, '--username', 'alice', '--password-file', passwordFile],
      /did not sign in alice: invalid_grant/,
    ],
    [1, ['http://127.0.0.1:1'], /cannot be reached/],
    [1, [address, '--version', '9.9'], /status 400: The version must be one of 1\.x, 2\.x/],
    [2, [address, '--username', 'alice'], /--password-file/],
    [2, [address, '--token-file', '/nowhere'], /\/nowhere cannot be read by the user \S+ \(ENOENT\)/],
    [2, ['nonsense'], /not a server address/],
    [2, [address, '--wait', 'long'], /--wait takes a number of seconds/],
    [2, [address, '--nonsense'], /Unknown option --nonsense/],
    [2, [address, '--token'], /--token-file FILE/],
    [2, [address, '--token', 'x.y.z'], /--token-file FILE/],
    [2, [address, '--token-file'], /--token-file needs a value/],
    [2, [address, '--token-file', '--wait', '1'], /--token-file needs a value/],
    [2, [address, '--token-file', emptyFile], /is empty/],
  ] as const) {
    const finished = await runInProcess(['stream', ...args], { stdin: '' })
    const { stderr } = finished
    assert.equal(finished.status, status, stderr)
    assert.match(stderr, message)
    assert.equal(stderr.trim().split('\n').length, 1, stderr)
  }
})

test('in a pipe an invalid line is reported in one line', async () => {
  for (const line of ['{"Controller":"Auth"', 'nonsense', 'quit', 'Platform/QueryServerInfo {']) {
    const { status, stderr } = await runInProcess(['stream', address], { stdin: `${line}\n` })
    assert.equal(status, 2, line)
    assert.match(stderr, /^gatehouse: [^\n]*\n$/, line)
  }
})

test('in a pipe a request that is refused makes the exit status 1', async () => {
  const stdin = 'Platform/QueryServerInfo\nPlatform/Nonsense\n'
  const { status, stdout } = await runInProcess(['stream', address], { stdin })
  assert.match(stdout, /"Action":"Error"/)
  assert.equal(status, 1)
})

test('in a pipe a subscription that is refused makes the exit status 1, with and without a TransactionID', async () => {
  for (const id of ['', ',"TransactionID":1']) {
    const stdin = `{"Controller":"Platform","Topic":"Nonsense","Action":"Sub"${id}}\n`
    const { status, stdout } = await runInProcess(['stream', address], { stdin })
    assert.match(stdout, /"Action":"Error"/)
    assert.equal(status, 1, stdin)
  }
})

test('a session that ends normally writes nothing to stderr', async () => {
  const { status, stdout, stderr } = await runInProcess(['stream', address], { stdin: 'Platform/QueryServerInfo\n' })
  assert.deepEqual([status, stderr], [0, ''])
  assert.match(stdout, /"Class":"Gatehouse"/)
})

test('in a pipe: messages of subscriptions are printed until the wait is over', async () => {
  const started = performance.now()
  const { status, stdout } = await runInProcess(['stream', address, '--wait', '2'], {
    stdin: 'sub Platform/ServerInfo\n',
  })
  assert.equal(status, 0)
  assert.ok(performance.now() - started >= 2_000)
  const actions = stdout.split('\n', 2).map((line) => JSON.parse(line).Action)
  assert.deepEqual(actions, ['Sub', 'Publish'])
})

test('pending messages: replies by id, and messages of subscriptions', () => {
  const sub = '"Controller":"A","Topic":"T","Action":"Sub","TransactionID":1'
  for (const [sent, received, isEmpty] of [
    [['{"Topic":"T","TransactionID":1}'], [], false],
    [['{"Topic":"T","TransactionID":1}'], ['{"Action":"Publish","Data":{}}'], false],
    [['{"Topic":"T","TransactionID":1}'], ['{"Action":"Error","TransactionID":1}'], true],
    [['{"Topic":"T","TransactionID":1}', '{"Topic":"T","TransactionID":1}'], ['{"TransactionID":1}'], false],
    [['{"Topic":"T"}'], [], true],
    [['{"Action": "Cancel", "TransactionID": 1}'], [], true],
    [['{"Action":"Error","TransactionID":1}'], [], true],
    [['nonsense'], [], true],
    [[`{${sub}}`], [], false],
    [[`{${sub}}`], ['{"Controller":"A","Topic":"T","Action":"Error","TransactionID":1}'], true],
    [[`{${sub},"Confirm":true}`], [`{${sub},"Confirm":true}`], false],
    [[`{${sub},"Confirm":true}`], [`{${sub},"Confirm":true}`, '{"Controller":"A","Topic":"T","Action":"Unsub"}'], true],
    // The error is the reply; the "Confirm":false that follows does not answer another request of the same id.
    [
      [`{${sub},"Confirm":true}`, '{"Topic":"X","TransactionID":1}'],
      ['{"Controller":"A","Topic":"T","Action":"Error","TransactionID":1}', `{${sub},"Confirm":false}`],
      false,
    ],
  ] as const) {
    const pending = new PendingMessages()
    for (const text of sent) pending.onSent(text)
    for (const text of received) pending.onReceived(text)
    assert.equal(pending.isEmpty, isEmpty, `${sent} ${received}`)
  }
})

test('subscriptions stay over a loss and a revoked token; requests in flight do not', () => {
  const pending = new PendingMessages()
  const sub = '{"Controller":"A","Topic":"T","Action":"Sub"}'
  pending.onSent(sub)
  pending.onSent('{"Topic":"X","TransactionID":1}')
  assert.equal(pending.onLost(), 1)
  assert.deepEqual([pending.subscriptions, pending.has('A/T'), pending.onLost()], [[sub], true, 0])
  // A right that was taken away ends it, a token that is replaced does not.
  const end = [
    '{"Controller":"A","Topic":"T","Action":"Error","Data":"Authority"}',
    '{"Controller":"A","Topic":"T","Action":"Unsub","Confirm":true}',
  ]
  for (const text of end) pending.onReceived(text, true)
  assert.deepEqual([pending.takeSuspended(), pending.takeSuspended()], [[sub], []])
  for (const text of end) pending.onReceived(text)
  assert.ok(pending.isEmpty)
  pending.onSent(sub)
  pending.onSent('{"Controller":"A","Topic":"T","Action":"Unsub"}')
  assert.ok(pending.isEmpty)
})

test('a server whose issuer has a path serves the stream below it', async (t) => {
  const { place: other, leave: leaveOther } = await openPlace('sqlite')
  t.after(leaveOther)
  const flags = { '--demo': 'true', '--stream-drain-time': '0.1', '--issuer': 'http://localhost:5999/gate' }
  const below = await startTestServer(other, { flags })
  t.after(() => below.stop())
  ;(await connect(below.port, { path: '/gate/Platform?version=1.1' })).socket.terminate()
  const origin = `127.0.0.1:${below.port}`
  for (const url of [`http://${origin}/gate`, `ws://${origin}/gate/Platform`, `http://${origin}/`]) {
    const { status, stdout } = await runInProcess(['stream', url], { stdin: 'Platform/QueryServerInfo\n' })
    assert.equal(status, 0, url)
    assert.match(stdout, /"Class":"Gatehouse"/, url)
  }
})

const hasScript = spawnSync('script', ['--version']).status === 0

test('in a terminal: prompt, messages in both directions, completion, history, errors, signin and quit', {
  skip: hasScript ? false : 'needs script(1) for a pseudo-terminal',
}, async (t) => {
  const terminal = openTerminal(['stream', server.issuer])
  t.after(() => terminal.child.kill('SIGKILL'))
  await terminal.until('connected to')
  // Readline treats keys that arrive together as pasted text, in which Tab does not complete.
  terminal.type('Platform/QueryServ')
  await terminal.until('QueryServ')
  terminal.type('\t')
  await terminal.until('erInfo')
  terminal.type('\r')
  await terminal.until('→ {"Controller":"Platform","Topic":"QueryServerInfo","TransactionID":1}')
  await terminal.until('← {"Controller":"Platform","Topic":"QueryServerInfo","Action":"Publish","TransactionID":1')
  terminal.type('\u001b[A\r')
  await terminal.until('"TransactionID":2}')
  terminal.type('{"Topic":"\\u009b31mred"}\r')
  await terminal.until('"Topic":"\\u009b31mred","Action":"Error"')
  assert.ok(!terminal.seen().includes('\u009b'), 'data does not control the terminal')
  terminal.type('nonsense\r')
  await terminal.until('! ')
  terminal.type('topics\r')
  await terminal.until('Auth/QueryIdentify')
  terminal.type('signin alice\r')
  await terminal.until('Password of alice: ')
  terminal.type('wonderland-1\r')
  await terminal.until('· signed in as alice')
  assert.ok(!terminal.seen().includes('wonderland-1'), 'a password is not echoed')
  terminal.type('Auth/QueryIdentify\r')
  await terminal.until('"Result":"Success"')
  terminal.type('quit\r')
  assert.equal(await terminal.ended, 0)
})

test('in a terminal: Ctrl-D ends the session; when the server closes it, the reason is shown and it comes back', {
  skip: hasScript ? false : 'needs script(1) for a pseudo-terminal',
}, async (t) => {
  const left = openTerminal(['stream', address])
  t.after(() => left.child.kill('SIGKILL'))
  await left.until('> ')
  left.type('\u0004')
  assert.equal(await left.ended, 0)
  const { place: other, leave: leaveOther } = await openPlace('sqlite')
  t.after(leaveOther)
  const flags = { '--demo': 'true', '--stream-drain-time': '0.1', '--port': String(await freePort()) }
  const stopping = await startTestServer(other, { flags })
  const cut = openTerminal(['stream', `http://127.0.0.1:${stopping.port}`])
  t.after(() => cut.child.kill('SIGKILL'))
  await cut.until('> ')
  await stopping.stop()
  await cut.until('closed with 1012')
  await cut.until('; reconnecting')
  // What is typed meanwhile is sent later.
  cut.type('Platform/QueryServerInfo\r')
  const restarted = await startTestServer(other, { flags })
  t.after(() => restarted.stop())
  await cut.until('connected again')
  await cut.until('"Class":"Gatehouse"')
  cut.type('\u0004')
  assert.equal(await cut.ended, 0)
})

/** script(1) gives the process a pseudo-terminal, whose input and output are pipes here. */
function openTerminal(args: readonly string[]) {
  const words = [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', words, '/dev/null'], { env: { ...process.env, NO_COLOR: '1', TERM: 'xterm' } })
  const output = { text: '', from: 0 }
  child.stdout.on('data', (data: Buffer) => {
    output.text += data.toString()
  })
  return {
    child,
    ended: once(child, 'exit').then(([status]) => status),
    seen: () => output.text,
    type: (keys: string) => child.stdin.write(keys),
    /** Waits for the text; the next search starts after it. */
    async until(words: string): Promise<void> {
      for (let tries = 0; tries < 500; tries++) {
        const at = output.text.indexOf(words, output.from)
        if (at >= 0) {
          output.from = at + words.length
          return
        }
        await pause(20)
      }
      assert.fail(`${words} was not shown:\n${output.text.slice(output.from)}`)
    },
  }
}

const PROGRAM = fileURLToPath(new URL('../../packages/server/bin/gatehouse.js', import.meta.url))
