/** Messages that are small to send and large to keep or to read: what they take is counted and bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'
import { message } from '../support/wire-client.ts'
import { bind, describe, execute, parse, SYNC, WireSession } from '../support/wire-session.ts'

const server = useServer(
  {
    flags: {
      ...{ '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' },
      // Of which all connections keep twice as much at most, and one user half of that.
      '--max-arriving-bytes': '4194304',
    },
  },
  async () => {
    const session = await open()
    await session.query('CREATE TABLE hostile (id Integer PRIMARY KEY, v Text, j Json, d Binary)')
    session.close()
  },
)
const open = () => WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)

/** The SQLSTATE of the first of these messages that is refused. */
async function firstRefusal(count: number, createMessage: (index: number) => Buffer) {
  const session = await open()
  await session.query('BEGIN')
  await session.send(parse('catalogue', 'SELECT relname FROM pg_class'), parse('command', 'SHOW TimeZone'), SYNC)
  let refused: string | undefined
  for (let index = 0; index < count && refused === undefined; index++)
    refused = (await session.send(createMessage(index), SYNC)).errors[0]?.C
  session.close()
  return refused
}

test('the declared types of prepared statements are counted', async () => {
  const count = 16_000
  const types = Buffer.concat([Buffer.from([count >> 8, count & 0xff]), Buffer.alloc(4 * count)])
  const parseAll = (text: string) => (index: number) =>
    message('P', Buffer.concat([Buffer.from(`s${index}\0${text}\0`), types]))
  assert.equal(await firstRefusal(40, parseAll('SELECT 1')), '53000')
  assert.equal(await firstRefusal(80, parseAll('SELECT oid FROM pg_class')), '53000')
})

test('the values and formats of portals are counted, also where the statement has no parameters', async () => {
  const count = Buffer.from([0xff, 0xff])
  const none = Buffer.alloc(2)
  const head = (index: number, statement: string) => Buffer.from(`p${index}\0${statement}\0`)
  const values = Buffer.concat([count, Buffer.alloc(65_535 * 4)])
  const bindAll = (index: number) => message('B', Buffer.concat([head(index, 'catalogue'), none, values, none]))
  assert.equal(await firstRefusal(3, bindAll), '53000')
  const formats = Buffer.concat([count, Buffer.alloc(65_535 * 2)])
  const bindFormats = (index: number) => message('B', Buffer.concat([head(index, 'command'), none, none, formats]))
  assert.equal(await firstRefusal(20, bindFormats), '53000')
})

test('the plans of portals are counted, which are many times as long as their statements', async () => {
  const wide = `SELECT ${Array.from({ length: 1000 }, (_, index) => `id + ${index} AS c${index}`)} FROM hostile`
  assert.equal(await firstRefusal(20, (index) => Buffer.concat([parse('', wide), bind(`p${index}`, '', [])])), '53000')
})

test('the columns of catalogue statements are counted where they are kept', async () => {
  const session = await open()
  const wide = `SELECT ${new Array(1500).fill('1').join()} FROM pg_class LIMIT 1`
  await session.query('BEGIN')
  let refused: string | undefined
  for (let index = 0; index < 60 && refused === undefined; index++)
    refused = (await session.query(`DECLARE c${index} CURSOR FOR ${wide}; FETCH ALL FROM c${index}`)).errors[0]?.C
  assert.equal(refused, '53000')
  session.close()
})

test('replies that wait for the write of a pipeline are counted', async () => {
  const session = await open()
  const wide = `SELECT ${new Array(400).fill('*').join()} FROM hostile`
  await session.send(parse('wide', wide), parse('insert', 'INSERT INTO hostile (id) VALUES ($1)'), SYNC)
  const flood = Buffer.concat(new Array(500).fill(describe('S', 'wide')))
  const { errors } = await session.send(bind('', 'insert', ['1']), execute(''), flood, SYNC)
  assert.equal(errors[0]?.C, '53000')
  // What was kept is given back, and nothing was written.
  assert.deepEqual((await session.query('SELECT id FROM hostile')).rows, [])
  const again = await session.send(bind('', 'insert', ['1']), execute(''), describe('S', 'wide'), SYNC)
  assert.deepEqual(again.tags, ['INSERT 0 1'])
  session.close()
})

test('a result has at most 1664 columns', async () => {
  const session = await open()
  const columns = (count: number) => session.query(`SELECT ${new Array(count).fill('id').join()} FROM hostile`)
  assert.equal((await columns(1664)).columns.length, 1664)
  assert.equal((await columns(1665)).errors[0]?.C, '54011')
  session.close()
})

test('values of the catalogue that do not fit their type in binary are an error of the statement', async () => {
  const session = await open()
  for (const value of ['99999::int2', '-5::oid', 'oid * 1000000000']) {
    const { errors } = await session.run(`SELECT ${value} FROM pg_class LIMIT 1`, [], { result: 1 })
    assert.equal(errors[0]?.C, '22003', value)
  }
  session.close()
})

test('an array that is too long is not read to its end, and one in binary has as many elements as it says', async () => {
  const session = await open()
  const run = async (value: string | Buffer, type = 1016) =>
    (await session.run('SELECT id FROM hostile WHERE id = ANY($1)', [value], { types: [type] })).errors[0]?.C
  const began = process.cpuUsage()
  assert.equal(await run(`{${'1,'.repeat(1_500_000)}1}`), '54000')
  const { user, system } = process.cpuUsage(began)
  assert.ok(user + system < 500_000, `${(user + system) / 1000} ms`)
  const binary = (count: number, ...parts: readonly Buffer[]) =>
    Buffer.concat([int32(1), int32(0), int32(20), int32(count), int32(1), ...parts])
  const one = Buffer.concat([int32(8), int32(0), int32(7)])
  assert.equal(await run(binary(1, one)), undefined)
  for (const wrong of [binary(-1), binary(2, one), binary(1, one, one), binary(1, int32(-2)), binary(0x7fffffff)])
    assert.match((await run(wrong)) ?? '', /^(22P03|54000)$/)
  session.close()
})

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

test('a chain of BETWEEN in a statement on the catalogue is answered at once, and its parts are printed once', async () => {
  const session = await open()
  const chain = (count: number) => `SELECT 1 FROM pg_class WHERE true${' BETWEEN false AND true'.repeat(count)}`
  const before = processorTime()
  assert.deepEqual((await session.send(parse('', chain(22)), SYNC)).errors, [])
  assert.ok(processorTime() - before < 1000, `${processorTime() - before} ms of processor time`)
  const { errors } = await session.send(parse('', chain(250)), bind('', '', []), execute('', 1), SYNC)
  assert.deepEqual(errors, [])
  const tooLong = await session.send(parse('', chain(1000)), describe('S', ''), SYNC)
  assert.equal(tooLong.errors[0]?.C, '54001', JSON.stringify(tooLong.errors))
  session.close()
})

/** Of this process, in which the server runs, in milliseconds. */
function processorTime(): number {
  return process.cpuUsage().user / 1000
}
