/** Arrow files and streams of Polars and pyarrow as bulk inserts. `npm run test:all` has them written anew by the real programs. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { table as flatTable, integer } from '../../../packages/server/src/query/results/flatbuffer.ts'
import { findToolchain, runCommand } from '../../../scripts/examples/samples.ts'
import { root } from '../../support/clone.ts'
import { IS_LONG_RUN, inLongRuns, onEveryEngineInLongRuns, type TestPlace } from '../../support/engines.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { batch, MESSAGE, message, offsets, schema, TYPE } from './made-stream.ts'

const FOLDER = join(root, 'test/query/arrow')
const FIXTURES = join(FOLDER, 'fixtures')
const ENVIRONMENT = join(root, 'node_modules', '.cache', 'arrow')
const ARROW = 'application/vnd.apache.arrow.stream'
const PARQUET = 'application/vnd.apache.parquet'
const written = mkdtempSync(join(tmpdir(), 'gatehouse-arrow-'))
after(() => rmSync(written, { recursive: true }))
const skip = IS_LONG_RUN ? await writeAnew() : 'runs in npm run test:all'

/** Resolves with why the programs cannot run here, or false. */
async function writeAnew(): Promise<string | false> {
  const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
  if (python.kind === 'missing') return `${python.reason}; it needs Python 3.10 or later`
  const run = (command: readonly string[]) => runCommand(command, { cwd: FOLDER, seconds: 300 })
  const made = await run(['python3', '-m', 'venv', ENVIRONMENT])
  if (made.status !== 0) return 'needs the module venv of Python (on Debian the package python3-venv)'
  const program = join(ENVIRONMENT, 'bin/python')
  const pip = [program, '-m', 'pip', '--disable-pip-version-check', 'install', '--quiet']
  const installed = await run([...pip, '-r', 'requirements.txt'])
  if (installed.status !== 0) throw new Error(`Polars and pyarrow were not installed: ${installed.output}`)
  const wrote = await run([program, 'make_fixtures.py', written])
  assert.equal(wrote.status, 0, wrote.output)
  return false
}

const POLARS = [
  {
    id: 1,
    t: 'short',
    c: 'buy',
    b: 'AP8=',
    f: 0.5,
    o: true,
    s: '2026-01-02T03:04:05.000006Z',
    a: '2026-02-28',
    m: '23:59:59.999999',
    d: '12.50',
  },
  { id: 2, t: null, c: 'sell', b: null, f: null, o: false, s: null, a: null, m: null, d: null },
  {
    id: 3,
    t: 'a text of more than twelve bytes: é😀',
    c: null,
    b: Buffer.from('y'.repeat(20)).toString('base64'),
    f: -1e300,
    o: null,
    s: '0001-01-01T00:00:00Z',
    a: '1969-12-31',
    m: '00:00:00',
    d: '-0.01',
  },
  {
    id: 4,
    t: '',
    c: 'a category of more than twelve bytes',
    b: '',
    f: 'Infinity',
    o: true,
    s: '2026-01-01T00:00:00Z',
    a: '1970-01-01',
    m: '01:02:03',
    d: '99999999.99',
  },
]

/** The same tests for the files of a folder. */
const inserts =
  (folder: string, options: { readonly skip?: string | false }) =>
  (place: () => TestPlace): void => {
    let server: QueryServer
    before(async () => {
      server = await startQueryServer(place())
      for (const statement of [
        'CREATE TABLE polars (id Integer PRIMARY KEY, t Text, c Text, b Binary, f Double, o Boolean, s Timestamp, a Date, m Time, d Decimal(10, 2))',
        'CREATE TABLE numbers (id Integer PRIMARY KEY, h Double, d32 Decimal(6, 2), d64 Decimal(18, 4), d256 Decimal(38, 18))',
        'CREATE TABLE words (c0 Text)',
        'CREATE TABLE uuids (id Integer PRIMARY KEY, u Uuid)',
      ])
        assert.equal((await server.query(statement)).status, 200, statement)
    })
    after(() => server.stop())

    const insert = async (table: string, file: string) => {
      await server.query(`DELETE FROM ${table} ALL`)
      const response = await fetch(`${server.url}/query/${table}/insert`, {
        method: 'POST',
        headers: { authorization: 'Bearer admin', 'content-type': file.endsWith('.parquet') ? PARQUET : ARROW },
        body: readFileSync(join(folder, file)),
      })
      return { status: response.status, ...((await response.json()) as { detail?: string; RowsAffected?: number }) }
    }
    const readRows = async (table: string) => (await server.query(`SELECT * FROM ${table} ORDER BY 1`)).json.Rows

    for (const file of ['polars.arrow', 'polars.arrows', 'polars-oldest.arrow'])
      test(`${file}: every type of a frame of Polars arrives exactly`, options, async () => {
        const { status, detail } = await insert('polars', file)
        assert.equal(status, 200, detail)
        assert.deepEqual(await readRows('polars'), POLARS)
      })

    test('a file of several record batches', options, async () => {
      assert.equal((await insert('polars', 'polars-chunks.arrow')).RowsAffected, 8)
      const rows = await readRows('polars')
      assert.deepEqual(rows.slice(0, 4), POLARS)
      assert.deepEqual(
        rows.slice(4).map(({ id, t, c }) => [id, t, c]),
        POLARS.map(({ id, t, c }) => [id + 4, t === null ? null : `${t}!`, c]),
      )
    })

    for (const file of ['pyarrow-numbers.arrow', 'pyarrow-numbers.arrows'])
      test(`${file}: half floats, and decimals of all widths`, options, async () => {
        const { status, detail } = await insert('numbers', file)
        assert.equal(status, 200, detail)
        assert.deepEqual(await readRows('numbers'), [
          {
            id: 1,
            h: 0.5,
            d32: '-1234.56',
            d64: '12345678901234.5678',
            d256: '-12345678901234567890.123456789012345678',
          },
          { id: 2, h: null, d32: null, d64: null, d256: null },
        ])
      })

    for (const file of ['pyarrow-uuid.arrows', 'pyarrow-uuid.parquet'])
      test(`${file}: 16 bytes are a Uuid`, options, async () => {
        const { status, detail } = await insert('uuids', file)
        assert.equal(status, 200, detail)
        assert.deepEqual(await readRows('uuids'), [
          { id: 1, u: '123e4567-e89b-12d3-a456-426614174000' },
          { id: 2, u: null },
        ])
      })

    test('a dictionary replaces the one before it', options, async () => {
      assert.equal((await insert('polars', 'pyarrow-dictionaries.arrows')).status, 200)
      assert.deepEqual(
        (await readRows('polars')).map(({ t }) => t),
        ['word 2', 'word 1', 'word 4', 'word 3'],
      )
    })

    test('replaced dictionaries do not count against the bytes of those that are there', options, async () => {
      // The bytes after the entry belong to the message.
      const body = Buffer.concat([offsets(1, 4), Buffer.from('word'), Buffer.alloc(4 * 1024 * 1024)])
      const header = batch(
        1,
        [
          [0, 0],
          [0, 8],
          [8, 4],
        ],
        1,
      )
      const dictionary = message(MESSAGE.dictionary, flatTable(integer(8, 0), header), body)
      const row = message(
        MESSAGE.batch,
        batch(
          1,
          [
            [0, 0],
            [0, 8],
          ],
          1,
        ),
        Buffer.alloc(8),
      )
      const parts = Array.from({ length: 20 }, () => [dictionary, row]).flat()
      const response = await fetch(`${server.url}/query/words/insert`, {
        method: 'POST',
        headers: { authorization: 'Bearer admin', 'content-type': ARROW },
        body: Buffer.concat([schema(TYPE.utf8, 0, 1), ...parts]),
      })
      assert.equal(response.status, 200, await response.text())
      assert.deepEqual(await readRows('words'), Array(20).fill({ c0: 'word' }))
      await server.query('DELETE FROM words ALL')
    })

    for (const [table, file, said] of [
      ['polars', 'refused-nanoseconds.arrows', /2026-01-02T03:04:05\.000006789Z.*below a microsecond: round it/],
      ['polars', 'refused-time.arrows', /01:02:03\.000000007.*below a microsecond: round it/],
      ['polars', 'refused-list.arrows', /"t" has the type List, which is not supported: write it as/],
      ['polars', 'refused-duration.arrows', /"t" has the type Duration, which is not supported: write it as/],
      ['numbers', 'refused-too-wide.arrows', /too many digits for Decimal\(38, 18\)/],
      ['uuids', 'refused-uuid.arrows', /column u \(Uuid\)/],
      ['uuids', 'refused-uuid.parquet', /column u \(Uuid\)/],
    ] as const)
      test(`${file}: the error says what to do`, options, async () => {
        const { status, detail } = await insert(table, file)
        assert.deepEqual([status >= 400 && status < 500, said.test(detail ?? '')], [true, true], detail)
      })
  }

onEveryEngineInLongRuns('Arrow inserts', inserts(FIXTURES, {}))
inLongRuns('Arrow inserts of files written now', inserts(written, { skip }))
