/** `gatehouse query`, `import` and `export` against a running server. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { tableFromIPC } from 'apache-arrow'
import { credentialsFile, writeLogin } from '../../packages/server/src/cli/sign-in/credentials.ts'
import { readWhole } from '../query/parquet/files.ts'
import { startBreakingProxy } from '../support/breaking-proxy.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { runInProcess } from '../support/in-process.ts'
import type { Finished } from '../support/process.ts'
import { useServer } from '../support/server.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-query-'))
const passwordFile = join(base, 'password.txt')

const server = useServer({ flags: { '--demo': 'true' } }, async () => {
  writeFileSync(passwordFile, 'admin-please-change\n')
  const created = await run([
    'query',
    'CREATE TABLE notes (id Integer PRIMARY KEY, body Text, price Decimal(12, 4), big Integer)',
  ])
  assert.equal(created.status, 0, created.stderr)
  const filled = await run([
    'query',
    `INSERT INTO notes (id, body, price, big) VALUES (1, 'first', 45.1, 9223372036854775807), (2, NULL, -0.5, 1), (3, '日本', NULL, NULL)`,
  ])
  assert.deepEqual([filled.status, filled.stderr], [0, '3 rows affected\n'])
})
after(async () => {
  rmSync(base, { recursive: true, force: true })
})

function run(args: readonly string[], stdin = '', address = server.issuer): Promise<Finished> {
  const login = ['--server', address, '--username', 'admin', '--password-file', passwordFile]
  return runInProcess([...args, ...login], { stdin, environment: { XDG_CONFIG_HOME: base } })
}

test('a result is a table: numbers aligned to the right, NULL shown, nothing rounded', async () => {
  const { status, stdout, stderr } = await run(['query', 'SELECT * FROM notes ORDER BY id'])
  assert.equal(status, 0, stderr)
  assert.equal(
    stdout,
    [
      'id │ body  │   price │                 big',
      '───┼───────┼─────────┼────────────────────',
      ' 1 │ first │ 45.1000 │ 9223372036854775807',
      ' 2 │ NULL  │ -0.5000 │                   1',
      ' 3 │ 日本  │    NULL │                NULL',
      '',
    ].join('\n'),
  )
  assert.equal(stderr, '3 rows\n')
})

test('a Json parameter is JSON, and its integers keep all their digits', async () => {
  const { stdout, stderr } = await run(['query', '-p', 'x={"a": 9007199254740993}', 'SELECT CAST(:x AS Json) AS x'])
  assert.equal(stdout.split('\n')[2], '{"a":9007199254740993}', stderr)
})

test('data cannot control the terminal', async () => {
  const { stdout } = await run(['query', '-p', 'x=\u001b[31mred\u0007', 'SELECT CAST(:x AS Text) AS x'])
  assert.ok(stdout.includes('\\u001b[31mred\\u0007') && !stdout.includes('\u001b'), stdout)
})

test('a statement is read from a pipe, with parameters, and printed as JSON or CSV', async () => {
  const statement = 'SELECT id, body FROM notes\nWHERE id >= :low AND id <> $1 ORDER BY id'
  const json = await run(['query', '--json', '-p', 'low=1', '--parameter', '1=2'], statement)
  assert.equal(json.status, 0, json.stderr)
  assert.deepEqual(JSON.parse(json.stdout).Rows, [
    { id: 1, body: 'first' },
    { id: 3, body: '日本' },
  ])
  const csv = await run(['query', '--csv', '-', '-p', 'low=2', '-p', ':1=9'], statement)
  assert.equal(csv.stdout, 'id,body\r\n2,\r\n3,日本\r\n')
})

test('an error points at its position in the statement, and the status is 1', async () => {
  const { status, stdout, stderr } = await run(['query'], 'SELECT id,\n  bdy FROM notes\n')
  assert.equal(
    stderr,
    'gatehouse: IQL.UnknownColumn: There is no column bdy\n2 |   bdy FROM notes\n      ^\nhint: did you mean body?\n',
  )
  assert.deepEqual([status, stdout], [1, ''])
})

test('a usage error is one line and status 2', async () => {
  for (const [args, message] of [
    [['query', 'SELECT 1 AS a', 'SELECT 2 AS b'], /takes \[STATEMENT\]; 2 arguments/],
    [['query'], /contains no statement/],
    [['query', '--json', '--csv', 'SELECT 1 AS a'], /not both/],
    [['query', '--jsn', 'SELECT 1 AS a'], /Unknown option --jsn; did you mean --json\?/],
    [['query', '--json=yes', 'SELECT 1 AS a'], /--json takes no value/],
    [['query', '--token', 'abc', 'SELECT 1 AS a'], /--token-file FILE/],
    [['query', '-p', 'nonsense', 'SELECT 1 AS a'], /NAME=VALUE/],
    [['query', '--nonsense'], /nonsense/],
    [['import', '/nowhere.csv', '--table', 'x'], /no file/],
    [['import', passwordFile], /import needs --table NAME/],
    [['import', passwordFile, '--table', 'x', '--batch', '0'], /--batch takes a whole number from 1 to 99999/],
    [['import', passwordFile, '--table', 'nosuch'], /--create/],
    [['export', 'SELECT 1 AS a', '--table', 'notes'], /not both/],
    [['export', 'SELECT 1 AS a', '--format', 'xml'], /csv, ndjson, arrow, parquet/],
  ] as const) {
    const { status, stderr } = await run(args)
    assert.equal(status, 2, `${args.join(' ')}: ${stderr}`)
    assert.match(stderr, message)
    assert.equal(stderr.trim().split('\n').length, 1, stderr)
  }
  const anonymous = await runInProcess(['query', 'SELECT 1 AS a', '--server', server.issuer], {
    environment: { XDG_CONFIG_HOME: base },
  })
  assert.deepEqual([anonymous.status, /You are not logged in/.test(anonymous.stderr)], [1, true])
  const unreachable = await run(['query', 'SELECT 1 AS a'], '', 'http://127.0.0.1:1')
  assert.deepEqual([unreachable.status, /cannot be reached/.test(unreachable.stderr)], [1, true])
})

test('import guesses types, prints them, creates the table and keeps every value', async () => {
  const file = join(base, 'trades.csv')
  writeFileSync(
    file,
    '\ufeffid,symbol,price,ratio,ts,day,open,code,extra,note\r\n' +
      '1,BHP,45.10,1e3,2026-01-30T10:00:00.000001Z,2026-01-30,true,007,"{""a"": 9007199254740993}","say ""hi"",\nall"\r\n' +
      '9223372036854775807,RIO,-120.5555,0.1,2026-01-30 11:00:00,2024-02-29,FALSE,42,[],""\r\n' +
      '3,CBA,,,,,,,,\n',
  )
  const dry = await run(['import', file, '--table', 'traded', '--dry-run'])
  assert.deepEqual(
    dry.stdout.split('\n').map((line) => line.split(/ {2,}/)),
    [
      ['delimiter: comma'],
      ['COLUMN', 'TYPE'],
      ['id', 'Integer'],
      ['symbol', 'Text'],
      ['price', 'Decimal(18, 4)'],
      ['ratio', 'Double'],
      ['ts', 'Timestamp'],
      ['day', 'Date'],
      ['open', 'Boolean'],
      ['code', 'Text'],
      ['extra', 'Json'],
      ['note', 'Text'],
      ['There is no table traded, which --create creates like this; nothing was written'],
      [''],
    ],
  )
  const done = await run([
    'import',
    file,
    '--table',
    'traded',
    '--create',
    '--key',
    'id',
    '--type',
    'price=Decimal(12, 5)',
  ])
  assert.equal(done.status, 0, done.stderr)
  assert.match(done.stdout, /price +Decimal\(12, 5\)\n[\s\S]*\n3 rows inserted\n$/)
  const back = await run(['query', '--csv', 'SELECT * FROM traded ORDER BY id'])
  assert.equal(
    back.stdout,
    'id,symbol,price,ratio,ts,day,open,code,extra,note\r\n' +
      '1,BHP,45.10000,1000,2026-01-30T10:00:00.000001Z,2026-01-30,true,007,"{""a"": 9007199254740993}","say ""hi"",\nall"\r\n' +
      '3,CBA,,,,,,,,\r\n' +
      '9223372036854775807,RIO,-120.55550,0.1,2026-01-30T11:00:00Z,2024-02-29,false,42,[],""\r\n',
  )
  assert.deepEqual(
    readdirSync(base).filter((name) => name.startsWith('trades.csv.')),
    [],
  )
})

test('rejected rows go to a file with the line and the reason; the others are inserted', async () => {
  const file = join(base, 'some.csv')
  writeFileSync(
    file,
    'id,body,price\n10,a,1\n11,b,many\n1,taken,2\n12,"c\nd",3\n13,too,few,4\n14,e,1.23456\n15,f,\n,g,1\n',
  )
  const { status, stdout, stderr } = await run(['import', file, '--table', 'notes', '--batch', '4'])
  assert.equal(status, 1, stderr)
  assert.match(stdout, /\n3 rows inserted\n$/)
  assert.equal(stderr, `5 rows were rejected: correct ${file}.rejected.csv and import it\n`)
  assert.deepEqual(readFileSync(`${file}.rejected.csv`, 'utf8').split('\r\n'), [
    'rejected_line,rejected_reason,id,body,price',
    '3,"price: ""many"" is not a number",11,b,many',
    '4,Data.UniqueViolation: A row with this key already exists,1,taken,2',
    '7,"has 4 fields, not 3",13,too,few,4',
    '8,"price: ""1.23456"" has more than 4 digits after the point, the scale of Decimal(12, 4)",14,e,1.23456',
    '10,id is empty but needs a value,,g,1',
    '',
  ])
  const kept = await run(['query', '--csv', 'SELECT id, body FROM notes WHERE id >= 10 ORDER BY id'])
  assert.equal(kept.stdout, 'id,body\r\n10,a\r\n12,"c\nd"\r\n15,f\r\n')

  // Corrected in part, the file is imported as it is; what is rejected again has the same form.
  const corrected = readFileSync(`${file}.rejected.csv`, 'utf8')
    .replace('11,b,many', '11,b,5')
    .replace(',1,taken', ',16,taken')
  writeFileSync(`${file}.rejected.csv`, corrected)
  const again = await run(['import', `${file}.rejected.csv`, '--table', 'notes'])
  assert.match(again.stdout, /\n2 rows inserted\n$/, again.stderr)
  const twice = readFileSync(`${file}.rejected.csv.rejected.csv`, 'utf8').split('\r\n')
  assert.deepEqual(twice.slice(0, 2), [
    'rejected_line,rejected_reason,id,body,price',
    '4,"has 4 fields, not 3",13,too,few,4',
  ])
  const found = await run(['query', '--csv', 'SELECT id, body, price FROM notes WHERE id IN (11, 16) ORDER BY id'])
  assert.equal(found.stdout, 'id,body,price\r\n11,b,5.0000\r\n16,taken,2.0000\r\n')
})

test('a rejected row has its line, whatever the lines of the header and of the rows before it', async () => {
  const file = join(base, 'lines.csv')
  // Columns are trimmed, so a header may have line breaks; empty lines are skipped.
  writeFileSync(file, '\n\n"id\n","note"\r\n11,"two\nlines"\n\nno number,x\r\n12,"a\r\n\nb"\nno number either,y\n')
  assert.equal((await run(['import', file, '--table', 'lined', '--type', 'id=Integer', '--create'])).status, 1)
  const rejected = readFileSync(`${file}.rejected.csv`, 'utf8').split('\r\n').slice(1, -1)
  assert.deepEqual(
    rejected.map((record) => record.split(',')[0]),
    ['8', '12'],
  )
})

test('an interrupted import resumes, and no row is inserted twice or lost', async () => {
  const file = join(base, 'long.csv')
  const rows = Array.from({ length: 1000 }, (_, index) => `${index},${index % 97 === 0 ? 'bad' : index}`)
  writeFileSync(file, `n,value\n${rows.join('\n')}\n`)
  // Without a primary key only the Idempotency-Key prevents duplicates.
  assert.equal((await run(['query', 'CREATE TABLE long (n Integer, value Integer)'])).status, 0)
  const proxy = await startBreakingProxy(server.port)
  const environment = { XDG_CONFIG_HOME: join(base, 'proxy') }
  // With a stored login: passwords and tokens of files are sent to the issuer only, which the proxy is not.
  const login = { clientId: 'demo-cli', accessToken: (await signIn(server, ADMIN)).access_token }
  const stored = { ...login, expiresAt: Number.MAX_SAFE_INTEGER, refreshToken: undefined }
  writeLogin(proxy.url, stored, credentialsFile(environment))
  const args = ['import', file, '--table', 'long', '--batch', '100', '--server', proxy.url]
  try {
    // The request of the fifth batch arrives, its response is lost, and the server is unreachable from then on.
    proxy.loseAnswerAfter(4)
    const interrupted = await runInProcess(args, { environment })
    assert.notEqual(interrupted.status, 0)
    const state = JSON.parse(readFileSync(`${file}.import.json`, 'utf8'))
    assert.ok(state.offset > 0 && state.inserted < 1000, JSON.stringify(state))
    for (const [option, value, before] of [
      ['--time-zone', 'America/New_York', 'no --time-zone'],
      ['--null', 'x', 'no --null'],
      ['--duplicates', 'skip', '--duplicates reject'],
      ['--batch', '50', '--batch 100'],
    ] as const) {
      const others = args.filter((word) => option !== '--batch' || (word !== '--batch' && word !== '100'))
      proxy.mend()
      const { status, stderr } = await runInProcess([...others, option, value], { environment })
      assert.deepEqual(
        [status, stderr],
        [
          1,
          `gatehouse: The interrupted import of ${file} has ${before}, and this command ${option} ${value}: repeat it with the same options to resume, or use --restart to start over\n`,
        ],
      )
    }
    const resumed = await runInProcess(args, { environment })
    assert.equal(resumed.status, 1, resumed.stderr)
    assert.match(resumed.stderr, /^Resuming at line \d+, after \d+ rows\n11 rows were rejected/)
  } finally {
    await proxy.stop()
  }
  const counted = await run(['query', '--csv', 'SELECT count(*) AS all_rows, count(DISTINCT n) AS different FROM long'])
  assert.equal(counted.stdout, 'all_rows,different\r\n989,989\r\n')
  assert.equal(readFileSync(`${file}.rejected.csv`, 'utf8').trim().split('\r\n').length, 12)
  assert.ok(!existsSync(`${file}.import.json`))
})

test('the state of another import is not resumed', async () => {
  const file = join(base, 'other.csv')
  writeFileSync(file, 'id,body\n900,x\n')
  writeFileSync(`${file}.import.json`, '{"id": "x", "offset": 3}')
  const refused = await run(['import', file, '--table', 'notes'])
  assert.deepEqual([refused.status, /--restart/.test(refused.stderr)], [1, true])
  assert.equal((await run(['import', file, '--table', 'notes', '--restart'])).status, 0)
})

test('export writes a table or the result of a statement as CSV, NDJSON, Arrow and Parquet', async () => {
  const csv = join(base, 'out.csv')
  const done = await run(['export', '--table', 'notes', '--output', csv])
  assert.equal(done.status, 0, done.stderr)
  assert.match(readFileSync(csv, 'utf8'), /^id,body,price,big\r\n1,first,45\.1000,9223372036854775807\r\n/)

  const ndjson = await run(['export', '--format', 'ndjson', '-p', 'id=1', 'SELECT id, big FROM notes WHERE id = :id'])
  assert.equal(ndjson.stdout, '{"id":1,"big":9223372036854775807}\n')

  const arrow = join(base, 'out.arrow')
  assert.equal(
    (await run(['export', '--output', arrow], 'SELECT id, body FROM notes WHERE id <= 3 ORDER BY id')).status,
    0,
  )
  const table = tableFromIPC(readFileSync(arrow))
  assert.deepEqual(
    table.toArray().map((row) => row?.toJSON()),
    [
      { id: 1n, body: 'first' },
      { id: 2n, body: null },
      { id: 3n, body: '日本' },
    ],
  )

  const parquet = join(base, 'out.parquet')
  const written = await run(['export', '--table', 'notes', '--output', parquet])
  assert.match(written.stderr, /out\.parquet: \d+ bytes of parquet/)
  const { values } = await readWhole(readFileSync(parquet))
  assert.deepEqual(values.get('price')?.slice(0, 1), [451_000n])
})

test('a result that fails midway leaves no file', async () => {
  const statement =
    'SELECT a.n, 1 / (CASE WHEN a.n * 1000 + b.n = 198900 THEN 0 ELSE 1 END) AS x FROM long a CROSS JOIN long b WHERE a.n < 200'
  for (const format of ['csv', 'ndjson', 'arrow', 'parquet']) {
    const output = join(base, `broken.${format}`)
    const { status, stderr } = await run(['export', statement, '--output', output])
    assert.equal(status, 1, `${format}: ${stderr}`)
    assert.match(stderr, /IQL\.DivisionByZero|Cut: The server ended/)
  }
  assert.deepEqual(
    readdirSync(base).filter((name) => name.startsWith('broken.')),
    [],
  )
})

test('the password can come from stdin, unless stdin is what the command reads', async () => {
  const ask = (...args: string[]) =>
    runInProcess([...args, '--password-stdin'], {
      stdin: 'admin-please-change\n',
      environment: { XDG_CONFIG_HOME: base, GATEHOUSE_SERVER: server.issuer },
    })
  const { stdout, stderr } = await ask('query', '--csv', 'SELECT id FROM notes WHERE id = 1', '--username', 'admin')
  assert.deepEqual([stdout, stderr], ['id\r\n1\r\n', ''])
  for (const [words, fault] of [
    [['query', '--username', 'admin'], /stdin is the password and cannot be the statements too/],
    [['export', '--username', 'admin'], /cannot be the statement too/],
    [['stream', '--username', 'admin'], /cannot be the messages too/],
    [['query', 'SELECT 1'], /--password-stdin needs --username/],
    [['query', 'SELECT 1', '--username', 'admin', '--password-file', passwordFile], /not both/],
  ] as const) {
    const refused = await ask(...words)
    assert.deepEqual([refused.status, fault.test(refused.stderr)], [2, true], refused.stderr)
  }
})
