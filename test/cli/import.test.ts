/** `gatehouse import` shows how it reads a file, and writes nothing where a few cells would change a column. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import { guessType } from 'gatehouse-csv'
import { typeName } from 'gatehouse-iql'
import { detectDelimiter } from '../../packages/server/src/cli/query/import.ts'
import { COMPRESSED_ARROW } from '../support/compressed-arrow.ts'
import { runInProcess } from '../support/in-process.ts'
import type { Finished } from '../support/process.ts'
import { useServer } from '../support/server.ts'

const base = mkdtempSync(join(tmpdir(), 'gatehouse-import-'))
const passwordFile = join(base, 'password.txt')

const server = useServer({ flags: { '--demo': 'true' } }, async () => {
  writeFileSync(passwordFile, 'admin-please-change\n')
})
after(async () => {
  rmSync(base, { recursive: true, force: true })
})

function run(args: readonly string[]): Promise<Finished> {
  const login = ['--server', server.issuer, '--username', 'admin', '--password-file', passwordFile]
  return runInProcess([...args, ...login], { environment: { XDG_CONFIG_HOME: base } })
}

function write(name: string, text: string): string {
  const file = join(base, name)
  writeFileSync(file, text)
  return file
}

test('the delimiter is the one that splits the records like the header', async () => {
  for (const [text, delimiter] of [
    ['a,b\n1,2\n', ','],
    ['a;b\n1,5;2,5\n3,5;4,5\n', ';'],
    ['a\tb, c\n1\t2\n', '\t'],
    ['a|b|c\n1|2|"x|y"\n', '|'],
    ['a;b\n"1;2,3";4\n', ';'],
    ['only\n1,5\n', ','],
    ['only\n', ','],
  ] as const)
    assert.equal(await detectDelimiter(write('delimiter.csv', text)), delimiter, JSON.stringify(text))
})

test('types and date formats are guessed from the values; what is doubtful is said', () => {
  const many = (value: string, count: number) => Array.from({ length: count }, () => value)
  const cases: readonly [
    values: readonly string[],
    type: string,
    format?: string | undefined,
    nearly?: string,
    misfits?: number,
  ][] = [
    [['31/01/2026', '01/02/2026'], 'Date', 'DD/MM/YYYY'],
    [['1/31/2026', '02/01/2026'], 'Date', 'MM/DD/YYYY'],
    [['31.1.2026', '1.2.2026 10:30'], 'Timestamp', 'DD.MM.YYYY'],
    [['01/31/2026 12:05 AM', '01/30/2026 1:00 PM'], 'Timestamp', 'MM/DD/YYYY'],
    [['2026/01/31'], 'Date', 'YYYY/MM/DD'],
    [['31/31/2026', '01/02/2026'], 'Text'],
    [['2026-01-31'], 'Date'],
    [[...many('1.5', 20), 'n/a'], 'Text', undefined, 'Decimal(18, 1)', 1],
    [['1', '2', '-'], 'Text', undefined, 'Integer', 1],
    [[...many('31/01/2026', 9), 'unknown'], 'Text', undefined, 'Date', 1],
    [[...many('1', 90), ...many('x', 10)], 'Text', undefined, 'Integer', 10],
    // Half of them, or codes with leading zeros: simply Text.
    [[...many('1', 10), ...many('x', 10)], 'Text'],
    [[...many('12345', 20), '01234'], 'Text'],
    [['ACME', 'BOLT', '7'], 'Text'],
    [['101,25', '1.101,5', '-3', '0,005'], 'Decimal(18, 3)', '1.234,56'],
    [['1,101.25', '3'], 'Decimal(18, 2)', '1,234.56'],
    [['1.234.567', '20'], 'Integer', '1.234,56'],
    [["1'234'567", '20'], 'Integer', '1,234.56'],
    [['1\u202f234,5', '20'], 'Decimal(18, 1)', '1.234,56'],
    [['1.200', '100'], 'Decimal(18, 3)'],
    [[...many('101,25', 20), 'n/a'], 'Text', undefined, 'Decimal(18, 2)', 1],
    [['1.23,4', '1,2,3', '12,34,567.8'], 'Text'],
    [['007,5', '01.234'], 'Text'],
    [['123 456', '1 234'], 'Text'],
  ]
  for (const [values, type, format, nearly, misfits] of cases) {
    const guess = guessType(values)
    const label = JSON.stringify(values.slice(-2))
    assert.deepEqual([typeName(guess.type), guess.format?.name], [type, format], label)
    assert.equal(guess.nearly === undefined ? undefined : typeName(guess.nearly.type), nearly, label)
    assert.equal(guess.nearly?.misfits.length, misfits, label)
  }
  assert.deepEqual(
    guessType(['01/02/2026', '03/04/2026']).ambiguous?.map(({ name }) => name),
    ['DD/MM/YYYY', 'MM/DD/YYYY'],
  )
})

test('delimiter and date formats are shown, and dates are converted', async () => {
  const file = write('europe.csv', 'id;day;at\n1;31.01.2026;31.01.2026 10:30\n2;1.2.2026;1.2.2026 23:59:59\n3;wrong;\n')
  const dry = await run(['import', file, '--table', 'europe', '--dry-run'])
  assert.deepEqual(dry.stdout.trimEnd().split('\n').slice(0, 2), ['delimiter: semicolon', 'COLUMN  TYPE       FORMAT'])
  assert.match(dry.stderr, /^day becomes Text, not Date, because of 1 of 3 values: line 4 "wrong"\n$/)
  const done = await run(['import', file, '--table', 'europe', '--create', '--type', 'day=Date'])
  assert.equal(done.status, 1, done.stderr)
  assert.match(done.stdout, /day +Date +DD\.MM\.YYYY\nat +Timestamp +DD\.MM\.YYYY\n/)
  const { stdout } = await run(['query', '--csv', 'SELECT id, day, at FROM europe ORDER BY id'])
  assert.equal(stdout, 'id,day,at\r\n1,2026-01-31,2026-01-31T10:30:00Z\r\n2,2026-02-01,2026-02-01T23:59:59Z\r\n')
  assert.deepEqual(readFileSync(`${file}.rejected.csv`, 'utf8').split('\r\n').slice(0, 2), [
    'rejected_line;rejected_reason;id;day;at',
    '4;"day: ""wrong"" is not a date such as 2026-01-31";3;wrong;',
  ])
})

test('the number format is detected from the other columns of a file, or asked for', async () => {
  const european = write('fills.csv', 'id;quantity;price;fee\n1;1.200;101,25;4,90\n2;40;1.102,00;n/a\n')
  const create = ['import', european, '--table', 'fills', '--create', '--null', 'n/a']
  const done = await run(create)
  assert.equal(done.status, 0, done.stderr)
  assert.match(done.stdout, /quantity +Integer +1\.234,56\nprice +Decimal\(18, 2\) +1\.234,56\nfee +Decimal/)
  const again = write('more.csv', 'id;quantity;price;fee\n3;2.500;1,5;-\n4;7;wrong;0,10\n')
  const more = await run(['import', again, '--table', 'fills', '--null', '-'])
  assert.match(more.stdout, /quantity +Integer +1\.234,56\n[\s\S]*\n1 row inserted\n$/)
  assert.match(more.stderr, /^1 row was rejected: correct /)
  const { stdout } = await run(['query', '--csv', 'SELECT * FROM fills ORDER BY id'])
  assert.deepEqual(stdout.split('\r\n').slice(1, -1), ['1,1200,101.25,4.90', '2,40,1102.00,', '3,2500,1.50,'])

  const doubtful = write('doubt.csv', 'id;quantity\n1;1,200\n2;3,500\n')
  const refused = await run(['import', doubtful, '--table', 'doubt', '--create'])
  assert.match(refused.stderr, /^quantity becomes Text: its numbers may be 1\.234,56 or 1,234\.56\n/)
  const wrong = await run(['import', doubtful, '--table', 'doubt', '--create', '--number-format', 'quantity=1.5'])
  assert.match(wrong.stderr, /unknown format 1\.5; known are 1\.234,56, 1,234\.56\n/)
  const chosen = await run(['import', doubtful, '--table', 'doubt', '--create', '--number-format', 'quantity=1,234.56'])
  assert.match(chosen.stdout, /quantity +Integer +1,234\.56\n2 rows inserted/, chosen.stderr)
  const typed = await run(['import', doubtful, '--table', 'doubt2', '--create', '--type', 'quantity=Decimal(9,3)'])
  assert.match(typed.stderr, /The numbers of quantity may be .* add --number-format quantity=…/)
})

test('a column that becomes Text because of a few cells is said so with the cells, and nothing is written without --yes', async () => {
  const rows = Array.from({ length: 40 }, (_, n) => `${n},${n % 13 === 7 ? 'n/a' : n / 2}`)
  const file = write('prices.csv', `id,price\n${rows.join('\n')}\n`)
  const create = ['import', file, '--table', 'prices', '--create']
  const refused = await run(create)
  assert.equal(refused.status, 1)
  assert.equal(
    refused.stderr,
    'price becomes Text, not Decimal(18, 1), because of 3 of 40 values: line 9 "n/a", line 22 "n/a", line 35 "n/a"\n' +
      'gatehouse: Nothing was written: add --yes to continue with these types, or set --type, --null, --date-format or --number-format\n',
  )
  assert.match((await run(['query', 'SELECT * FROM prices'])).stderr, /IQL\.UnknownTable/)
  const typed = await run([...create, '--type', 'price=Decimal(18, 1)'])
  assert.match(typed.stdout, /37 rows inserted/)
  assert.equal((await run(['query', 'DROP TABLE prices'])).status, 0)
  const agreed = await run([...create, '--yes'])
  assert.deepEqual([agreed.status, /40 rows inserted/.test(agreed.stdout)], [0, true], agreed.stderr)
})

test('days and months that cannot be distinguished are not guessed', async () => {
  const file = write('when.csv', 'id,day\n1,01/02/2026\n2,03/04/2026\n')
  const create = ['import', file, '--table', 'days', '--create']
  const refused = await run(create)
  assert.match(refused.stderr, /^day becomes Text: its dates may be DD\/MM\/YYYY or MM\/DD\/YYYY\n/)
  const decided = await run([...create, '--date-format', 'day=MM/DD/YYYY'])
  assert.equal(decided.status, 0, decided.stderr)
  const again = await run(['import', file, '--table', 'days'])
  assert.deepEqual([again.status, /add --date-format day=/.test(again.stderr)], [2, true], again.stderr)
  const { stdout } = await run(['query', '--csv', 'SELECT day FROM days ORDER BY id'])
  assert.equal(stdout, 'day\r\n2026-01-02\r\n2026-03-04\r\n')
  for (const [option, value] of [
    ['--date-format', 'day=DDMMYY'],
    ['--date-format', 'nosuch=DD/MM/YYYY'],
    ['--delimiter', 'x'],
  ] as const)
    assert.equal((await run([...create, option, value])).status, 2, option)
})

test('a view is exported like a table; an import into it is refused with the reason', async () => {
  for (const statement of [
    'CREATE TABLE desks (id Integer PRIMARY KEY, name Text)',
    "INSERT INTO desks (id, name) VALUES (1, 'north'), (2, 'south')",
    'CREATE VIEW "South desks" (id, name) AS SELECT id, name FROM desks WHERE id > 1',
  ])
    assert.equal((await run(['query', statement])).status, 0, statement)
  const exported = await run(['export', '--table', 'South desks'])
  assert.deepEqual([exported.status, exported.stdout.trim().split(/\r?\n/)], [0, ['id,name', '2,south']])
  const file = write('desks.csv', 'id,name\n3,east\n')
  for (const options of [[], ['--create'], ['--dry-run'], ['--dry-run', '--create']]) {
    const { status, stdout, stderr } = await run(['import', file, '--table', 'South desks', ...options])
    assert.deepEqual(
      [status, stdout, stderr],
      [
        1,
        '',
        `gatehouse: IQL.NotWritable: South desks is a view, which is only read\nhint: write to the tables that it reads\n`,
      ],
    )
    // Nothing was begun that an import into another table would have to resume.
    assert.deepEqual([existsSync(`${file}.import.json`), existsSync(`${file}.rejected.csv`)], [false, false])
  }
  assert.match((await run(['export', 'SELECT count(*) AS n FROM desks'])).stdout, /^n\r?\n2\r?\n$/)
})

test('a dry run is refused where the import would be: a table that is only read, a key that is no column', async () => {
  const file = write('refused.csv', 'name\ntrades\n')
  const cases: readonly (readonly [number, RegExp, ...string[]])[] = [
    [1, /^gatehouse: IQL\.NotWritable: CatalogueTables is read-only\n$/i, '--table', 'CatalogueTables'],
    [2, /--key names nosuch, which is not a column of the file/, '--table', 'new', '--create', '--key', 'nosuch'],
  ]
  for (const [expected, message, ...options] of cases)
    for (const dry of [[], ['--dry-run']]) {
      const { status, stderr } = await run(['import', file, ...options, ...dry])
      assert.equal(status, expected, stderr)
      assert.match(stderr, message)
    }
})

test('a row whose key is taken is rejected, skipped or replaces the other; times without a zone have the given one', async () => {
  const first = write('first.csv', 'id,at,note\n1,2026-01-15 09:30,a\n2,2026-07-15 09:30,b\n')
  const zoned = ['--time-zone', 'America/New_York']
  const created = await run(['import', first, '--table', 'taken', '--create', '--key', 'id', ...zoned])
  assert.match(created.stdout, /2 rows inserted\n$/, created.stderr)
  const again = write('again.csv', 'id,at,note\n2,2026-07-15 09:30,c\n3,2026-11-01 01:30,d\n3,2026-03-08 02:30,e\n')
  const rejected = await run(['import', again, '--table', 'taken', ...zoned])
  assert.deepEqual([rejected.status, /1 row inserted\n$/.test(rejected.stdout)], [1, true], rejected.stderr)
  assert.deepEqual(
    readFileSync(`${again}.rejected.csv`, 'utf8')
      .split('\r\n')
      .slice(1, 3)
      .map((line) => line.split(',')[0]),
    ['2', '4'],
  )
  const skipped = await run(['import', again, '--table', 'taken', '--duplicates', 'skip', ...zoned])
  assert.match(skipped.stdout, /0 rows inserted\n3 rows skipped/, skipped.stderr)
  const replaced = await run(['import', again, '--table', 'taken', '--duplicates', 'replace', ...zoned])
  assert.match(replaced.stdout, /0 rows inserted\n3 rows replaced/, replaced.stderr)
  const { stdout } = await run(['query', '--csv', 'SELECT * FROM taken ORDER BY id'])
  assert.deepEqual(stdout.split('\r\n').slice(1, 4), [
    '1,2026-01-15T14:30:00Z,a',
    '2,2026-07-15T13:30:00Z,c',
    // Clocks skip half past two: the offset is that before.
    '3,2026-03-08T07:30:00Z,e',
  ])
  for (const [option, value] of [
    ['--time-zone', 'Nowhere/City'],
    ['--duplicates', 'drop'],
    ['--format', 'xlsx'],
  ] as const)
    assert.equal((await run(['import', again, '--table', 'taken', option, value])).status, 2, option)
})

test('NDJSON, Arrow and Parquet files are imported as they are', async () => {
  assert.equal((await run(['query', 'CREATE TABLE plain (id Integer PRIMARY KEY, note Text)'])).status, 0)
  const lines = await run(['import', write('rows.ndjson', '{"id":1,"note":"a"}\n{"id":2}\n'), '--table', 'plain'])
  assert.match(lines.stdout, /^2 rows inserted\n$/, lines.stderr)
  for (const format of ['arrow', 'parquet']) {
    const file = join(base, `plain.${format}`)
    assert.equal((await run(['export', '--table', 'plain', '--format', format, '--output', file])).status, 0)
    const again = await run(['import', file, '--table', 'plain', '--duplicates', 'replace'])
    assert.match(again.stdout, /^0 rows inserted\n2 rows replaced\n$/, again.stderr)
  }
  const bad = await run(['import', write('bad.ndjson', '{"id":3}\n{"id":"x"}\n'), '--table', 'plain'])
  assert.deepEqual([bad.status, /Line 2: The value "x" of the column id/.test(bad.stderr)], [1, true], bad.stderr)
})

test('--create makes a table with the types of an Arrow or Parquet file, and says who can read it', async () => {
  const rows = `SELECT 1 AS id, CAST('12.50' AS Decimal(10, 2)) AS price, TIMESTAMP '2026-01-15T14:30:00Z' AS at,
    LOCALTIMESTAMP '2026-01-15 09:30' AS local, true AS live, DATE '2026-01-15' AS day, '[1]' AS note`
  for (const format of ['parquet', 'arrow']) {
    const file = join(base, `typed.${format}`)
    assert.equal((await run(['export', rows, '--format', format, '--output', file])).status, 0)
    const target = ['import', file, '--table', `typed_${format}`]
    const without = await run(target)
    assert.deepEqual([without.status, /use --create to create it with the types/.test(without.stderr)], [2, true])
    const dry = await run([...target, '--dry-run'])
    assert.match(dry.stdout, /which --create creates like this; nothing was written\n$/, dry.stderr)
    const done = await run([...target, '--create', '--key', 'id', '--type', 'note=Json'])
    assert.match(done.stdout, /1 row inserted\n$/, done.stderr)
    assert.match(done.stderr, /Everyone with a right of the platform can read it.*SET READ SCOPE/s)
    const { stdout } = await run(['query', '--csv', `DESCRIBE typed_${format}`])
    const described = stdout.trim().split('\r\n').slice(1)
    const types = [
      ...[
        'id,Integer',
        'price,Decimal(10, 2)',
        'at,Timestamp',
        'local,Timestamp',
        'live,Boolean',
        'day,Date',
        'note,Json',
      ],
    ]
    assert.equal(described.length, types.length, stdout)
    for (const [index, type] of types.entries())
      assert.ok(described[index]?.replaceAll('"', '').startsWith(`${type},`), `${described[index]} is not ${type}`)
    assert.equal((await run(target)).status, 1, 'the key is taken')
  }
  const lines = await run(['import', write('new.ndjson', '{"id":1}\n'), '--table', 'typed_lines', '--create'])
  assert.deepEqual([lines.status, /--create is for CSV, Arrow and Parquet/.test(lines.stderr)], [2, true], lines.stderr)
  const csv = await run(['import', write('new.csv', 'id\n1\n'), '--table', 'typed_csv', '--create'])
  assert.match(csv.stderr, /Everyone with a right of the platform can read it/)
})

test('--create makes no table for an Arrow file that cannot be inserted because it is compressed', async () => {
  const file = join(base, 'compressed.arrow')
  writeFileSync(file, COMPRESSED_ARROW)
  const { status, stderr } = await run(['import', file, '--table', 'unmade', '--create', '--key', 'id'])
  assert.deepEqual([status, /compressed\.arrow: The record batches are compressed/.test(stderr)], [1, true], stderr)
  assert.match((await run(['query', 'DESCRIBE unmade'])).stderr, /IQL\.UnknownTable/)
})

test('files of any name are recognised, a dry run writes nothing, and times without a zone have the given one', async () => {
  assert.equal((await run(['query', 'CREATE TABLE zoned (id Integer PRIMARY KEY, at Timestamp)'])).status, 0)
  const zoned = ['--table', 'zoned', '--time-zone', 'America/New_York']
  const files = [write('local.ndjson', '{"id":1,"at":"2026-01-15 09:30"}\n{"id":2,"at":"2026-07-15T12:00:00Z"}\n')]
  // Local times, and others as texts.
  const rows = "SELECT id, at AT TIME ZONE 'America/New_York' AS at FROM zoned"
  const read = 'COLUMN  TYPE       FORMAT\nid      Integer\nat      Timestamp  America/New_York\n'
  for (const [format, name] of [['NDJSON'], ['Parquet', 'local.data'], ['Arrow', 'local']] as const) {
    if (name !== undefined) {
      const exported = await run(['export', rows, '--format', format.toLowerCase(), '--output', join(base, name)])
      assert.equal(exported.status, 0, exported.stderr)
      files.push(join(base, name))
      assert.equal((await run(['query', 'DELETE FROM zoned ALL'])).status, 0)
    }
    const dry = await run(['import', files.at(-1) ?? '', ...zoned, '--dry-run'])
    assert.match(dry.stdout, new RegExp(`^format: ${format}\n${read}2 rows can be inserted .* nothing was written\n$`))
    assert.equal((await run(['query', '--csv', 'SELECT * FROM zoned'])).stdout, 'id,at\r\n', format)
    const done = await run(['import', files.at(-1) ?? '', ...zoned])
    assert.equal(done.stdout, '2 rows inserted\n', done.stderr)
    const { stdout } = await run(['query', '--csv', 'SELECT * FROM zoned ORDER BY id'])
    assert.deepEqual(stdout.split('\r\n').slice(1, 3), ['1,2026-01-15T14:30:00Z', '2,2026-07-15T12:00:00Z'], format)
  }
  const feather = join(base, 'rows.feather')
  const table = tableFromArrays({ id: Int32Array.from([7, 8]) })
  // The library leaves out the schema that should be first: the footer has it too.
  writeFileSync(feather, tableToIPC(table, 'file'))
  const sent = await run(['import', feather, '--table', 'zoned'])
  assert.equal(sent.stdout, '2 rows inserted\n', sent.stderr)

  const taken = await run(['import', files[1] ?? '', ...zoned])
  assert.match(taken.stderr, /Data\.UniqueViolation: [^\n]*\nhint: nothing was inserted; --duplicates skip leaves/)
  for (const option of ['--yes', '--null=x', '--batch=5', '--restart', '--rejected=x'])
    for (const file of files) {
      const { status, stderr } = await run(['import', file, '--table', 'zoned', option])
      assert.equal(status, 2, option)
      assert.match(stderr, new RegExp(`${option.split('=')[0]} is an option for CSV, and ${file} is `))
    }
  const wrong = await run(['import', feather, '--table', 'zoned', '--format', 'csv'])
  assert.deepEqual([wrong.status, /is in the format arrow, not csv/.test(wrong.stderr)], [2, true], wrong.stderr)
  const csv = write('zoned.csv', 'id,at\n9,\n')
  const typed = await run(['import', csv, '--table', 'zoned', '--type', 'at=Text'])
  assert.match(typed.stderr, /--type at=Text is for a new table, and zoned exists, where at is Timestamp\n/)
})
