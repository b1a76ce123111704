/** Starting and stopping `gatehouse serve`: error messages when it cannot start, and a clean stop. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { TLSSocket } from 'node:tls'
import SqliteDatabase from 'better-sqlite3'
import { createCertificate } from '../support/certificate.ts'
import { runInProcess } from '../support/in-process.ts'
import { runGatehouse, serveProcess, withoutOurs } from '../support/process.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-start-'))
after(() => rmSync(base, { recursive: true, force: true }))

let counter = 0
function newFolder(): string {
  return join(base, `data-${++counter}`)
}

describe('a start that fails prints one line that says what to do', () => {
  async function refusal(
    args: readonly string[],
    environment: Record<string, string> = {},
    expected = 1,
    run: typeof runInProcess = runGatehouse,
  ): Promise<string> {
    const { status, stdout, stderr } = await run(['serve', ...args], { environment })
    const logged = stdout.split('\n').filter((line) => line !== '' && !line.includes('"msg":"starting"'))
    assert.deepEqual(logged, [], 'nothing but that it is starting')
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
    assert.ok(stderr.startsWith('gatehouse: '), stderr)
    assert.equal(status, expected)
    return stderr
  }

  test('the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    try {
      const line = await refusal(['--port', String(port), '--data', newFolder()])
      assert.match(line, new RegExp(`Port ${port} is in use.*GATEHOUSE_PORT`))
    } finally {
      other.close()
    }
  })

  test('the data folder cannot be created', async () => {
    const file = join(base, 'a-file')
    writeFileSync(file, '')
    for (const folder of [join(file, 'data'), '/sys/gatehouse'])
      assert.match(
        await refusal(['--port', '0', '--data', folder]),
        /cannot be created \(\w+\): make \S+ writable .*GATEHOUSE_DATA/,
      )
  })

  test('the data folder cannot be written', {
    skip: process.getuid?.() === 0 && 'root may write everywhere',
  }, async () => {
    const folder = newFolder()
    mkdirSync(folder)
    chmodSync(folder, 0o500)
    assert.match(await refusal(['--port', '0', '--data', folder]), /cannot be used \(EACCES\).*GATEHOUSE_DATA/)
  })

  test('the data folder is incomplete or belongs to another program', async () => {
    const folder = newFolder()
    mkdirSync(folder)
    writeFileSync(join(folder, 'identity.db'), '')
    assert.match(await refusal(['--port', '0', '--data', folder]), /not a complete gatehouse data folder/)
  })

  test('the mark of the data folder is damaged', async () => {
    const folder = newFolder()
    mkdirSync(folder)
    writeFileSync(join(folder, 'gatehouse.json'), '{"form')
    assert.match(await refusal(['--port', '0', '--data', folder]), /damaged: restore/)
  })

  test('the database is damaged', async () => {
    const folder = newFolder()
    mkdirSync(folder)
    writeFileSync(join(folder, 'gatehouse.json'), '{"format":1}')
    writeFileSync(
      join(folder, 'identity.db'),
      'this is not a database, although it is long enough to be one '.repeat(20),
    )
    assert.match(await refusal(['--port', '0', '--data', folder]), /identity\.db.*restore/)
  })

  test('the schema is newer than the program', async () => {
    const folder = newFolder()
    const server = await serveProcess(['--data', folder])
    await server.stop()
    const database = new SqliteDatabase(join(folder, 'identity.db'))
    database.prepare("insert into schema_version (version, name, applied_at) values (999, 'future', 0)").run()
    database.close()
    assert.match(await refusal(['--port', '0', '--data', folder]), /schema version 999.*newer gatehouse/)
  })

  test('a setting is misspelled or has an invalid value', async () => {
    assert.match(await refusal(['--prot', '1'], {}, 2), /Unknown option --prot; did you mean --port\?/)
    // Refused before anything is opened or logged, so a separate process would show nothing more.
    const refused = (args: readonly string[], environment?: Record<string, string>) =>
      refusal(args, environment, 2, runInProcess)
    assert.match(await refused(['--prot']), /Unknown option --prot; did you mean --port\?/)
    assert.match(await refused([], { GATEHOUSE_DATABSE_URL: 'x' }), /did you mean GATEHOUSE_DATABASE_URL\?/)
    assert.match(await refused(['--port', 'http']), /--port: "http" is not a whole number/)
    assert.match(await refused(['--demo', '--host', '0.0.0.0']), /loopback only/)
  })

  test('the database server does not answer', async () => {
    const line = await refusal([
      '--port',
      '0',
      '--data',
      newFolder(),
      '--database-url',
      'postgres://x:hidden@127.0.0.1:1/x',
    ])
    assert.match(line, /GATEHOUSE_DATABASE_URL/)
    assert.ok(!line.includes('hidden'))
  })

  test('the database server has no TLS, or a certificate that is not trusted', async () => {
    const { cert, key } = createCertificate(['127.0.0.1'])
    for (const [answer, expected] of [
      ['N', /cannot be reached over TLS \(The server does not support SSL connections\).*sslmode/],
      ['S', /cannot be reached over TLS \(.*self-signed certificate.*\).*sslrootcert/],
    ] as const) {
      const server = createTcpServer((socket) => {
        socket
          .on('error', () => {})
          .once('data', () => {
            socket.write(answer)
            if (answer === 'S') new TLSSocket(socket, { isServer: true, cert, key }).on('error', () => {})
          })
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      const url = `postgres://x:hidden@127.0.0.1:${port}/x?sslmode=verify-full`
      const line = await refusal(['--port', '0', '--data', newFolder(), '--database-url', url])
      assert.match(line, expected)
      assert.ok(!line.includes('hidden'))
      server.close()
    }
  })

  test('the TLS files are missing', async () => {
    const line = await refusal([
      '--port',
      '0',
      '--data',
      newFolder(),
      '--tls-certificate',
      '/nowhere/a.pem',
      '--tls-key',
      '/nowhere/b.pem',
    ])
    assert.match(line, /\/nowhere\/a\.pem/)
  })
})

test('a declarative file with errors prevents the start, with one line for each', async () => {
  const file = join(base, 'bad.yaml')
  writeFileSync(
    file,
    'clients:\n  - client_id: a\n    token_endpoint_auth_method: none\n    redirect_uris: ["http://app.example.com/"]\nusers:\n  - username: x\n    roles: [nobody]\n',
  )
  const { status, stderr } = await runGatehouse(['serve', '--port', '0', '--data', newFolder(), '--config', file])
  assert.equal(status, 1)
  assert.match(stderr, /bad\.yaml: clients\[0\]\.redirect_uris\[0\]: /)
  assert.match(stderr, /bad\.yaml: users\[0\]\.roles\[0\]: unknown role "nobody"/)
})

test('SIGTERM: the request in flight is answered, then the process exits with 0', async () => {
  const server = await serveProcess(['--data', newFolder()])
  const socket = connect(server.port, '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  let reply = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    reply += chunk
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  // A complete request first, so that the server has accepted the connection.
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
  await new Promise((resolve) => socket.once('data', resolve))
  reply = ''
  // Half a request has been sent when the signal arrives; the other half follows.
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n')
  await new Promise((resolve) => setTimeout(resolve, 500))
  server.child.kill('SIGTERM')
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.equal(server.child.exitCode, null, 'the server waits for the request')
  socket.write('\r\n')
  await closed
  assert.match(reply, /^HTTP\/1\.1 200 OK/)
  assert.match(reply, /connection: close/i)
  assert.equal(await server.ended, 0)
  assert.match(server.output().stdout, /"msg":"stopped"/)
})

test('SIGINT with an idle keep-alive connection: the process exits at once with 0', async () => {
  const server = await serveProcess(['--data', newFolder()])
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
  await new Promise((resolve) => socket.once('data', resolve))
  const signalled = Date.now()
  assert.equal(await server.stop('SIGINT'), 0)
  assert.ok(Date.now() - signalled < 8000, 'it does not wait for the grace period of 10 s')
  socket.destroy()
})

test('the server stops when the shell that npm started ends', async () => {
  const shell = spawn('sh', ['-c', `"${process.execPath}" ./gatehouse serve --port 0 --data "${newFolder()}"; true`], {
    cwd: new URL('../..', import.meta.url).pathname,
    env: { ...process.env, npm_lifecycle_event: 'start' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  shell.stdout.setEncoding('utf8')
  for await (const chunk of shell.stdout) {
    output += chunk
    // The pipe closes only when the server, which inherited it, has exited too.
    if (output.includes('"msg":"started"')) shell.kill('SIGTERM')
  }
  assert.match(output, /"msg":"stopped"/)
})

const OLD_NODE =
  "data:text/javascript,process.execve = undefined; Object.defineProperty(process.versions, 'node', { value: '20.0.0' })"
const REPLACEABLE_NODE = "data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '22.15.0' })"
const AS_NPM =
  "process.title = 'npm start'; require('node:child_process').spawn('sh', ['-c', process.argv[1]], { stdio: 'inherit' })"

for (const { name, args, npm } of [
  { name: 'launcher with another Node', args: ['--import', OLD_NODE, 'gatehouse', 'serve'], npm: false },
  { name: 'npm', args: ['-e', AS_NPM, `"${process.execPath}" ./gatehouse serve`], npm: true },
])
  test(`the server stops when its ${name} is killed`, { timeout: 60_000 }, async () => {
    const started = spawn(process.execPath, args, {
      cwd: new URL('../..', import.meta.url).pathname,
      env: {
        ...withoutOurs(process.env),
        ...{ GATEHOUSE_PORT: '0', GATEHOUSE_STOP_DELAY: '0', GATEHOUSE_DATA: newFolder() },
        npm_lifecycle_event: npm ? 'start' : undefined,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    started.stdout.setEncoding('utf8')
    for await (const chunk of started.stdout) {
      output += chunk
      // The pipe closes only when the server, which inherited it, has exited too.
      if (output.includes('"msg":"started"')) started.kill('SIGKILL')
    }
    assert.match(output, /"msg":"stopped"/)
    assert.doesNotMatch(output, new RegExp(`"node":"[^"]*:${started.pid}"`), 'the server is another process')
  })

for (const { name, command } of [
  {
    name: 'an older Node that can be replaced',
    command: [process.execPath, '--import', REPLACEABLE_NODE, 'gatehouse'],
  },
  { name: 'the shell, whatever Node is on the PATH', command: ['./gatehouse'] },
])
  test(`the server is the process that was started, with ${name}`, { timeout: 60_000 }, async () => {
    const [program = '', ...args] = command
    const started = spawn(program, [...args, 'serve'], {
      cwd: new URL('../..', import.meta.url).pathname,
      env: {
        ...withoutOurs(process.env),
        ...{ GATEHOUSE_PORT: '0', GATEHOUSE_STOP_DELAY: '0', GATEHOUSE_DATA: newFolder() },
        PATH: `${oldNode()}:${process.env.PATH}`,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(started, 'exit')
    let output = ''
    started.stdout.setEncoding('utf8')
    for await (const chunk of started.stdout) {
      output += chunk
      if (output.includes('"msg":"started"')) started.kill('SIGTERM')
    }
    assert.match(output, new RegExp(`"node":"[^"]*:${started.pid}"`))
    assert.match(output, /"msg":"stopped"/)
    assert.deepEqual(await ended, [0, null])
  })

/** A folder whose `node` says that it is Node 20, and runs nothing. */
function oldNode(): string {
  const folder = newFolder()
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'node'), '#!/bin/sh\n[ "$1" = --version ] && echo v20.20.2\n', { mode: 0o755 })
  return folder
}

test('a second start finds what the first one created', async () => {
  const folder = newFolder()
  const first = await serveProcess(['--data', folder, '--demo'])
  assert.match(first.output().stdout, /"created":\d+/)
  assert.equal(await first.stop(), 0)
  const second = await serveProcess(['--data', folder, '--demo'])
  assert.ok(!second.output().stdout.includes('declaration applied'))
  assert.equal(await second.stop(), 0)
})
