/** pyarrow and DuckDB read our Parquet files, and we read theirs: random columns and settings. Needs Python with the module venv, and PyPI. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { findToolchain, runCommand } from '../../../scripts/examples/samples.ts'
import { root } from '../../support/clone.ts'
import { IS_LONG_RUN, inLongRuns } from '../../support/engines.ts'
import { createEvery, EVERY_TYPE } from '../every-type.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { assertSame, readSpooled, readWhole } from './files.ts'

const FOLDER = join(root, 'test/query/parquet')
const ENVIRONMENT = join(root, 'node_modules', '.cache', 'parquet')
const PYTHON = join(ENVIRONMENT, 'bin/python')
const skip = IS_LONG_RUN ? await prepare() : 'runs in npm run test:all'
const FILES = 40
const SEEDS = [1, 2, 3]

/** Resolves with why the programs cannot run here, or false. */
async function prepare(): Promise<string | false> {
  const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
  if (python.kind === 'missing') return `${python.reason}; it needs Python 3.10 or later`
  const run = (command: readonly string[]) => runCommand(command, { cwd: FOLDER, seconds: 300 })
  const made = await run(['python3', '-m', 'venv', ENVIRONMENT])
  if (made.status !== 0) return 'needs the module venv of Python (on Debian the package python3-venv)'
  const pip = [PYTHON, '-m', 'pip', '--disable-pip-version-check', 'install', '--quiet']
  const installed = await run([...pip, '-r', 'requirements.txt'])
  if (installed.status !== 0) throw new Error(`pyarrow and DuckDB were not installed: ${installed.output}`)
  return false
}

const inFolder = async (work: (folder: string) => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-parquet-'))
  try {
    await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

for (const seed of SEEDS) {
  test(`files of pyarrow and DuckDB are read exactly, seed ${seed}`, { skip }, () =>
    inFolder(async (folder) => {
      execFileSync(PYTHON, [join(FOLDER, 'random_files.py'), String(seed), folder], { stdio: 'inherit' })
      for (let number = 0; number < FILES; number++) {
        const read = (ending: string): Buffer => readFileSync(join(folder, `${number}.${ending}`))
        const rows = JSON.parse(read('json').toString())
        for (const file of [await readWhole(read('parquet')), await readSpooled(read('parquet'), 64 * 1024)]) {
          assert.equal(file.values.get('c0')?.length, rows.c0.length)
          assertSame(file, rows)
        }
      }
    }),
  )
}

interface Shown {
  readonly pyarrow: Readonly<Record<string, [type: string, nullable: boolean, values: (string | null)[]]>>
  readonly duckdb: Readonly<Record<string, [type: string, values: (string | null)[]]>>
}

inLongRuns('Parquet in other programs', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    const row = { ...EVERY_TYPE, id: '9223372036854775807', t: 'é😀', d: '-12345678901234.5678', b: 'QWI=' }
    await createEvery(server, [row, { id: 2 }])
  })
  after(() => server.stop())

  const shown = async (statement: string): Promise<Shown> => {
    let output = ''
    await inFolder(async (folder) => {
      const response = await fetch(`${server.url}/query`, {
        method: 'POST',
        body: statement,
        headers: {
          authorization: 'Bearer admin',
          'content-type': 'text/plain',
          accept: 'application/vnd.apache.parquet',
        },
      })
      assert.equal(response.status, 200)
      const file = join(folder, 'result.parquet')
      writeFileSync(file, new Uint8Array(await response.arrayBuffer()))
      output = execFileSync(PYTHON, [join(FOLDER, 'show_file.py'), file], { encoding: 'utf8', maxBuffer: 1 << 28 })
    })
    return JSON.parse(output)
  }

  test('a row group of DuckDB of 60 MB, one page for each column, is inserted', { skip }, () =>
    inFolder(async (folder) => {
      const [rows, names] = [125_000, Array.from({ length: 12 }, (_, index) => `c${index}`)]
      const texts = names.map((name, index) => `md5((i * 12 + ${index})::VARCHAR) || 'abcdefgh' AS ${name}`)
      const path = join(folder, 'large.parquet')
      const copy = `COPY (SELECT i, ${texts.join()} FROM range(${rows}) t(i)) TO '${path}' (FORMAT parquet)`
      execFileSync(PYTHON, ['-c', 'import sys, duckdb; duckdb.sql(sys.argv[1])', copy])
      await server.query(`CREATE TABLE large (i Integer PRIMARY KEY, ${names.map((name) => `${name} Text`).join()})`)
      const response = await fetch(`${server.url}/query/large/insert`, {
        method: 'POST',
        body: readFileSync(path),
        headers: { authorization: 'Bearer admin', 'content-type': 'application/vnd.apache.parquet' },
      })
      const { RowsAffected } = (await response.json()) as { readonly RowsAffected?: number }
      assert.deepEqual([response.status, RowsAffected], [200, rows])
      const text = (number: number): string => `${createHash('md5').update(String(number)).digest('hex')}abcdefgh`
      for (const i of [0, 1, 77_777, 122_879, 122_880, rows - 1]) {
        const [row] = (await server.query(`SELECT * FROM large WHERE i = ${i}`)).json.Rows
        assert.deepEqual(row, { i, ...Object.fromEntries(names.map((name, index) => [name, text(12 * i + index)])) })
      }
    }),
  )

  test('every type, exactly', { skip }, async () => {
    const { pyarrow, duckdb } = await shown(
      `SELECT *, s AT TIME ZONE 'America/New_York' AS l FROM every ORDER BY id DESC`,
    )
    assert.deepEqual(pyarrow, {
      id: ['int64', false, ['9223372036854775807', '2']],
      t: ['string', true, ['é😀', null]],
      d: ['decimal128(18, 4)', true, ['-12345678901234.5678', null]],
      f: ['double', true, ['0.1', null]],
      o: ['bool', true, ['True', null]],
      s: ['timestamp[us, tz=UTC]', true, ['2026-01-02 03:04:05.000001+00:00', null]],
      a: ['date32[day]', true, ['1969-12-31', null]],
      m: ['time64[us]', true, ['23:59:59.999999', null]],
      u: ['extension<arrow.uuid>', true, ['123e4567-e89b-12d3-a456-426614174000', null]],
      j: ['extension<arrow.json>', true, ['{"k":[1,null]}', null]],
      b: ['binary', true, ["b'Ab'", null]],
      w: ['decimal128(38, 18)', true, ['-12345678901234567890.123456789012345678', null]],
      l: ['timestamp[us]', true, ['2026-01-01 22:04:05.000001', null]],
    })
    assert.deepEqual(duckdb, {
      id: ['BIGINT', ['9223372036854775807', '2']],
      t: ['VARCHAR', ['é😀', null]],
      d: ['DECIMAL(18,4)', ['-12345678901234.5678', null]],
      f: ['DOUBLE', ['0.1', null]],
      o: ['BOOLEAN', ['true', null]],
      s: ['TIMESTAMP WITH TIME ZONE', ['2026-01-02 03:04:05.000001+00', null]],
      a: ['DATE', ['1969-12-31', null]],
      m: ['TIME', ['23:59:59.999999', null]],
      u: ['UUID', ['123e4567-e89b-12d3-a456-426614174000', null]],
      j: ['JSON', ['{"k":[1,null]}', null]],
      b: ['BLOB', ['Ab', null]],
      w: ['DECIMAL(38,18)', ['-12345678901234567890.123456789012345678', null]],
      l: ['TIMESTAMP', ['2026-01-01 22:04:05.000001', null]],
    })
  })

  test('a result of several row groups, with a dictionary and without', { skip }, async () => {
    const { pyarrow, duckdb } = await shown(
      `SELECT g AS n, CAST(g % 7 AS Text) AS few, CAST(g AS Text) AS many, CASE WHEN g % 3 = 0 THEN NULL ELSE g END AS some
       FROM generate_series(1, 230000) AS g ORDER BY g`,
    )
    const numbers = Array.from({ length: 230_000 }, (_, index) => index + 1)
    const few = numbers.map((n) => String(n % 7))
    const many = numbers.map(String)
    const some = numbers.map((n) => (n % 3 === 0 ? null : String(n)))
    assert.deepEqual([pyarrow.n?.[2], pyarrow.few?.[2], pyarrow.many?.[2], pyarrow.some?.[2]], [many, few, many, some])
    assert.deepEqual([duckdb.n?.[1], duckdb.few?.[1], duckdb.many?.[1], duckdb.some?.[1]], [many, few, many, some])
  })
})
