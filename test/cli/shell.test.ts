/** The query shell against a running server: at a prompt made of streams, in a pseudo-terminal, and in a pipe. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { parseArguments } from '../../packages/server/src/cli/args.ts'
import { COMMANDS } from '../../packages/server/src/cli/commands.ts'
import { createGate } from '../../packages/server/src/cli/gate.ts'
import { CommandHistory, historyFile } from '../../packages/server/src/cli/query/shell/history.ts'
import { runShell } from '../../packages/server/src/cli/query/shell/shell.ts'
import { chooseAuth } from '../../packages/server/src/cli/sign-in/sign-in.ts'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { runInProcess } from '../support/in-process.ts'
import type { Finished } from '../support/process.ts'
import { useServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const LATE_MS = 30_000
const PROGRAM = fileURLToPath(new URL('../../packages/server/bin/gatehouse.js', import.meta.url))
const base = mkdtempSync(join(tmpdir(), 'gatehouse-shell-'))
const tokenFile = join(base, 'token.txt')
const environment = { XDG_CONFIG_HOME: base, XDG_STATE_HOME: base }

// A statement that is not cancelled outlives the test.
const flags = { '--demo': 'true', '--demo-market': 'false', '--query-seconds': '600' }
const server = useServer({ flags }, async () => {
  writeFileSync(tokenFile, (await signIn(server, ADMIN)).access_token)
})
after(async () => {
  rmSync(base, { recursive: true, force: true })
})

const access = () => ['--server', server.issuer, '--token-file', tokenFile]
const script = (stdin: string, ...args: string[]): Promise<Finished> =>
  runInProcess(['query', ...args, ...access()], { stdin, environment })

interface Prompt {
  /** Types the keys and waits until the screen shows the text after them; returns what was shown since. */
  type(keys: string, awaited: string | RegExp): Promise<string>
  readonly ended: Promise<void>
}

const PROMPT = 'gatehouse> '

/** A shell whose keyboard and screen are streams. */
async function openShell(t: TestContext, parameters: ReadonlyMap<string, string> = new Map()): Promise<Prompt> {
  const command = COMMANDS.find(({ name }) => name === 'query')
  assert.ok(command)
  const input = new PassThrough()
  const output = Object.assign(new PassThrough(), { columns: 100, rows: 20 })
  let [raw, shown] = ['', '']
  output.setEncoding('utf8').on('data', (text: string) => {
    raw += text
    shown = stripVTControlCharacters(raw).replaceAll('\r', '')
  })
  const gate = createGate(server.issuer, chooseAuth(server.issuer, parseArguments(command, access())))
  t.after(() => gate.close())
  const options = { parameters, format: 'table' as const }
  const ended = runShell(gate, options, { input, output }, new CommandHistory(historyFile(environment)))
  t.after(() => input.end())
  const type = async (keys: string, awaited: string | RegExp): Promise<string> => {
    const from = shown.length
    input.write(keys)
    const matches = () => {
      const since = shown.slice(from)
      return typeof awaited === 'string' ? since.includes(awaited) : awaited.test(since)
    }
    await until(`${awaited} follows ${JSON.stringify(keys)}`, LATE_MS, matches)
    return shown.slice(from)
  }
  await until('the prompt is shown', LATE_MS, () => shown.includes(PROMPT))
  return { type, ended }
}

test('statements may have several lines, errors point, and Ctrl-C drops what was typed', async (t) => {
  const { type, ended } = await openShell(t)
  await type('select symbol,\r', ' ... ')
  const result = await type("  name from instruments where symbol = 'ACME';\r", /1 row\n.*gatehouse> /)
  assert.ok(result.includes('symbol │ name\n───────┼─────────────────\nACME   │ Acme Engineering\n1 row\n'), result)
  const error = await type('select bdi from quotes;\r', /did you mean.*\n.*gatehouse> /)
  assert.ok(error.includes('There is no column bdi\n1 | select bdi from quotes\n           ^\nhint: did you mean bid?'))
  await type("select 'open\r", "'.. ")
  await type('\u0003', /\^C\n.*gatehouse> /)
  await type('select 1 as one; select 2 as two;\r', /one\n[\s\S]*1 row\n[\s\S]*two\n[\s\S]*1 row\n.*gatehouse> /)
  await type('\u001b[A\u001b[A', 'gatehouse> select 1 as one;')
  await type('\u0003', '^C')
  await type('\\q\r', '')
  await ended
  assert.deepEqual(readFileSync(historyFile(environment), 'utf8').split('\n').slice(0, 2), [
    "select symbol, name from instruments where symbol = 'ACME';",
    'select bdi from quotes;',
  ])
})

test('commands describe tables and change how results are shown; data and errors cannot control the terminal', async (t) => {
  const { type, ended } = await openShell(t, new Map([['x', '\u001b[31mred\u0007']]))
  const tables = await type('\\d\r', '5 rows')
  assert.match(tables, /name +│ columns[\s\S]*\ninstruments +│ [\s\S]*\nquotes [\s\S]*\ntrades /)
  assert.match(await type('\\d quotes\r', '6 rows'), /\nquoted_at │ Timestamp /)
  assert.match(await type('\\d nothing\r', 'IQL.'), /no table nothing/)
  await type('\\timing\r', 'Timing is on.')
  await type('\\x\r', 'as lists of columns')
  const record = await type('select 1 as a, cast(:x as text) as bb;\r', ' ms\n')
  assert.match(record, /── row 1 ─+\na {2}│ 1\nbb │ \\u001b\[31mred\\u0007\n1 row · \d+\.\d ms\n/)
  await type('\\timing off\r\\x off\r\\format csv\r', 'The format is csv.')
  assert.match(await type("select 'a' as a, 2 as b;\r", 'a,2'), /\na,b\na,2\n/)
  await type('\\format table\r', 'The format is table.')
  assert.ok((await type('select "a\u009b2J" from quotes;\r', '^\n')).includes('\\u009b2J'))
  assert.match(await type('\\timng\r', '\\?'), /Unknown command \\timng; did you mean \\timing\?/)
  assert.match(await type('\\?\r', 'Ctrl-C cancels'), /\\live \[STATEMENT\]/)
  await type('\u0004', '')
  await ended
})

test('Tab completes names of the catalogue, also of a table that was just created', async (t) => {
  const { type } = await openShell(t)
  await type('create table completed_later (id Integer primary key, novel Text);\r', 'affected')
  await until('the table is completed', LATE_MS, async () => {
    const shown = await type('select * from completed_l\t', 'completed_l')
    await type('\u0003', '^C')
    return shown.includes('completed_later')
  })
  const shown = await type('select * from completed_later where nov\t', 'novel')
  assert.ok(shown.endsWith('novel'), shown)
  await type('\u0003', '^C')
})

test('a long result is shown in pages', async (t) => {
  const { type } = await openShell(t)
  const first = await type('select symbol from instruments order by symbol;\r', '-- more')
  assert.ok(first.includes('ACME') && !first.includes('rows'))
  await type(' ', '-- more')
  await type('q', /60 rows\n.*gatehouse> /)
})

/** Runs until it is cancelled. */
const SLOW = `select count(*) as n from ${['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `trades ${name}`).join(' cross join ')}`

async function running(): Promise<number> {
  const { access_token } = await signIn(server, ADMIN)
  const response = await fetch(`${server.issuer}/admin/queries`, bearer(access_token))
  return ((await response.json()) as { items: unknown[] }).items.length
}

test('Ctrl-C cancels the running statement, here and on the server, and not the shell', async (t) => {
  const { type } = await openShell(t)
  await type(`${SLOW};\r`, 'trades g;')
  await until('it runs', LATE_MS, async () => (await running()) === 1)
  await type('\u0003', /Cancelled\.\n.*gatehouse> /)
  await until('the server has ended it', LATE_MS, async () => (await running()) === 0)
  await type('select 7 as seven;\r', '1 row')
})

const hasScript = spawnSync('script', ['--version']).error === undefined
test('in a pseudo-terminal: keys, $PAGER, a live result and back to the prompt', {
  skip: !hasScript && 'the program script is not installed',
}, async (t) => {
  const command = [process.execPath, PROGRAM, 'query', ...access()].join(' ')
  const child = spawn('script', ['-qfec', `stty cols 100 rows 20; exec ${command}`, '/dev/null'], {
    env: { ...process.env, ...environment, TERM: 'xterm-256color', PAGER: 'sed s/^/paged:/' },
  })
  t.after(() => child.kill())
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const type = async (keys: string, awaited: string | RegExp) => {
    const from = shown.length
    child.stdin.write(keys)
    const since = () => shown.slice(from)
    await until(`${awaited} follows ${JSON.stringify(keys)}`, LATE_MS, () =>
      typeof awaited === 'string' ? since().includes(awaited) : awaited.test(since()),
    )
    return since()
  }
  await until('the prompt is shown', LATE_MS, () => shown.includes(PROMPT))
  await type('select symbol from instruments order by symbol;\r', /paged:ACME\r\n[\s\S]*60 rows[\s\S]*gatehouse> /)
  await type(
    "\\live select symbol, name from instruments where symbol = 'ACME'\r",
    /\u001b\[\?1049h[\s\S]*Acme Engineering/,
  )
  await type('q', /\u001b\[\?1049l1 row, 0 changes[\s\S]*gatehouse> /)
  await type('\\live select nothing from instruments\r', /IQL\.UnknownColumn[\s\S]*gatehouse> /)
  await type(`${SLOW};\r`, 'trades g;')
  await until('it runs', LATE_MS, async () => (await running()) === 1)
  await type('\u0003', /Cancelled\.[\s\S]*gatehouse> /)
  await type('select 7 as seven;\r', /1 row[\s\S]*gatehouse> /)
  child.stdin.write('\u0004')
  assert.equal(await ended, 0)
})

test('results in JSON and CSV cannot control a terminal either', {
  skip: !hasScript && 'the program script is not installed',
}, async () => {
  for (const args of ['query --csv', 'query --json', 'export']) {
    const command = `exec ${process.execPath} ${PROGRAM} ${args} -p "x=$HOSTILE" 'select cast(:x as text) as x'`
    const child = spawn('script', ['-qfec', `${command} ${access().join(' ')}`, '/dev/null'], {
      env: { ...process.env, ...environment, HOSTILE: '\u001b[31m\u009b2Jred' },
    })
    const stdout = await text(child.stdout)
    assert.ok(stdout.includes('\\u001b[31m') && stdout.includes('\\u009b2Jred'), `${args}: ${JSON.stringify(stdout)}`)
    assert.doesNotMatch(stdout, /[\u001b\u009b]/)
  }
})

test('in a pipe each statement is run in order; commands work, and the last semicolon may be missing', async () => {
  const { status, stdout, stderr } = await script(
    "-- a script\nselect 'a;b' as a;\nselect cast(:x as integer) as x\nfrom instruments limit 1;\n\\format csv\nselect $1 + 1 as n",
    '-p',
    'x=5',
    '-p',
    '1=2',
  )
  assert.equal(status, 0, stderr)
  assert.equal(stdout, 'a\n───\na;b\nx\n─\n5\nn\r\n3\r\n')
  assert.equal(stderr, '1 row\n1 row\nThe format is csv.\n')
})

test('in a pipe the first failure ends the script, and a parameter that no statement names is refused before', async () => {
  const failed = await script('select 1 as a;\nselect nothing from quotes;\nselect 2 as b;')
  assert.deepEqual([failed.status, failed.stdout], [1, 'a\n─\n1\n'])
  assert.match(failed.stderr, /^1 row\ngatehouse: IQL\.UnknownColumn: .*\n1 \| select nothing from quotes\n {11}\^\n/)
  const unused = await script('drop table completed_later;', '-p', 'x=1')
  assert.deepEqual([unused.status, unused.stderr], [2, 'gatehouse: --parameter x is not used in any statement\n'])
  const live = await script('\\live select 1 as a')
  assert.deepEqual([live.status, /needs a terminal/.test(live.stderr)], [2, true])
})
