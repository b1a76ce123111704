/** `gatehouse types` on a real server: what it writes compiles and fits what the client reads. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Gatehouse, password } from '../../packages/client/src/index.ts'
import { writeTypes } from '../../packages/server/src/cli/types.ts'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { runInProcess } from '../support/in-process.ts'
import { useServer } from '../support/server.ts'

let folder: string
const server = useServer({ flags: { '--demo': 'true' } }, async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-types-'))
  await writeFile(join(folder, 'password.txt'), ALICE.password)
})
after(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('only tables that the caller may read, with their descriptions', async () => {
  const admin = new Gatehouse(server.issuer, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  await admin.query`create table secrets (id Integer primary key) read scope 'Platform/Admin'`
  await admin.query`create table unreadable (id Integer primary key) read scope 'Platform/Nobody'`
  admin.close()
  const login = ['--server', server.issuer, '--username', 'alice', '--password-file', join(folder, 'password.txt')]
  const { status, stdout, stderr } = await runInProcess(['types', ...login])
  assert.equal(status, 0, stderr)
  assert.match(
    stdout,
    /export interface Tables \{\n {2}bars_1h: Bars1h\n {2}bars_1m: Bars1m\n {2}instruments: Instruments\n {2}quotes: Quotes\n {2}trades: Trades\n\}/,
  )
  assert.match(stdout, /\/\*\* The latest trades \(demonstration data\) \*\/\nexport interface Trades \{/)
  assert.match(stdout, / {2}\/\*\* Decimal\(18, 4\) \*\/\n {2}price: string\n/)
  assert.match(stdout, / {2}venue: string \| null\n/)
  assert.match(stdout, / {2}id: number\n/)
  assert.doesNotMatch(stdout, /secrets/)
  // Who may define tables sees definitions of others, which are of no use to a program.
  await writeFile(join(folder, 'admin.txt'), ADMIN.password)
  const own = ['--server', server.issuer, '--username', ADMIN.username, '--password-file', join(folder, 'admin.txt')]
  const seen = await runInProcess(['types', '--client', 'demo-cli', ...own])
  assert.match(seen.stdout, /secrets: Secrets/, seen.stderr)
  assert.doesNotMatch(seen.stdout, /unreadable/i)
  const dates = await runInProcess(['types', '--integer', 'bigint', '--timestamp', 'date', ...login])
  assert.match(dates.stdout, / {2}id: bigint\n[\s\S]* {2}executed_at: Date\n/)
  const wrong = await runInProcess(['types', '--integer', 'double', ...login])
  assert.equal(wrong.status, 2)
  assert.match(wrong.stderr, /--integer must be one of number, bigint, text/)
})

test('odd names and descriptions cannot break out of their places', () => {
  const columns = [{ name: 'a"b', type: 'Json', nullable: true }]
  const tables = [
    { name: '2 b', description: 'end */ here', columns },
    { name: 'last_prices', description: null, columns: [] },
    { name: 'Last prices', description: null, columns: [] },
    { name: 'tables', description: null, columns: [] },
  ]
  const text = writeTypes(tables, { integer: 'number', timestamp: 'string' })
  assert.match(
    text,
    /"2 b": Table2B\n {2}last_prices: LastPrices\n {2}"Last prices": LastPrices2\n {2}tables: Tables2\n/,
  )
  assert.match(text, /\/\*\* end \*\\\/ here \*\//)
  assert.match(text, /"a\\"b": unknown \| null/)
})
