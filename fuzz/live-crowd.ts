/**
 * A crowd of live subscribers: `node fuzz/live-crowd.ts [engine] [subscribers] [stalled] [statements] [tables]`. They come back at once
 * after a crash, do not read, ask for too many statements, wait for a long one, or follow many tables. Prints what it costs, and what
 * others notice meanwhile: the 99th percentile should be at most twice that without load.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CHANGES, Crowd } from '../test/query/live/crowd.ts'
import { ALICE, signIn } from '../test/support/demo-user.ts'
import { openPlace } from '../test/support/engines.ts'
import { stopOwnPostgres } from '../test/support/postgres.ts'
import { connect } from '../test/support/stream-client.ts'

const [engine = 'sqlite', ...counts] = process.argv.slice(2)
const [subscribers = 500, stalled = 1000, statements = 10_000, tables = 90] = counts.map(Number)

if (engine === '--ask') {
  const [, , , port, count, ...tokens] = process.argv
  await askAll(Number(port), tokens, Number(count))
  await new Promise(() => {})
}

const { place, leave } = await openPlace(engine === 'postgres' ? 'postgres' : 'sqlite')
const crowd = await Crowd.open(place)

interface Times {
  readonly p50: number
  readonly p99: number
}

let alone: Times | undefined

function report(what: string, { p50, p99 }: Times, rest = ''): void {
  const ratio = alone === undefined ? '' : ` (${(p99 / alone.p99).toFixed(1)} × alone)`
  console.log(`${what}: others p50 ${p50} ms, p99 ${p99} ms${ratio}; ${crowd.residentMiB} MiB${rest}`)
}

/** They all were connected to a server that was killed. */
async function storm(): Promise<void> {
  const left = await crowd.subscribe(subscribers)
  await crowd.restart('SIGKILL')
  for (const change of CHANGES) await crowd.query(change)
  const began = performance.now()
  const beside = await crowd.timesBeside(crowd.subscribe(subscribers, left))
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  await crowd.agree(beside.result)
  const recovered = beside.result.filter(({ answers }) => answers.recovered === 1).length
  report(`${subscribers} come back`, beside, `; ${recovered} recovered in ${seconds} s`)
  crowd.hangUp()
}

const WIDE = 'SELECT id, price, note FROM ticks'

async function changes(count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    await crowd.query('UPDATE ticks SET price = price + 1 ALL')
    await sleep(30)
  }
}

async function stall(): Promise<void> {
  await crowd.query("UPDATE ticks SET note = repeat('x', 1000) ALL")
  report('200 rows of 1 KiB change', await crowd.timesBeside(changes(50)))
  const { client: reader } = await crowd.follow(WIDE)
  const raw = await Promise.all(Array.from({ length: stalled }, () => subscribeRaw(WIDE)))
  await sleep(1000)
  for (const { socket } of raw) socket.pause()
  // What their sockets take.
  await changes(20)
  report(`beside ${stalled} who do not read`, await crowd.timesBeside(changes(50)))
  await crowd.agree([reader])
  for (const { socket } of raw) socket.terminate()
  crowd.hangUp()
}

async function subscribeRaw(statement: string) {
  const client = await connect(crowd.server.port, { headers: { Authorization: `Bearer ${crowd.token}` } })
  client.send({ Controller: 'Query', Topic: 'Live/0', Action: 'Sub', Data: { Statement: statement } })
  return client
}

/** More than two users may have; from another process, whose own work would be measured too. */
async function ask(): Promise<void> {
  const before = crowd.residentMiB
  const tokens = [crowd.token, (await signIn(crowd.server, ALICE)).access_token]
  const args = ['--ask', String(crowd.server.port), String(statements), ...tokens]
  const child = fork(fileURLToPath(import.meta.url), args)
  const answered = new Promise<[string, number][]>((resolve) => {
    child.once('message', (answers) => resolve(answers as [string, number][]))
  })
  report(`${statements} statements`, await crowd.timesBeside(answered), `; ${JSON.stringify(await answered)}`)
  report('ten changes of all their rows', await crowd.timesBeside(changes(10)))
  child.kill()
  const answers = new Map(await answered)
  const served = Math.min(statements, tokens.length * PER_USER)
  assert.equal(answers.get('served'), served)
  assert.equal(answers.get('Limited live statements') ?? 0, statements - served, 'the others are refused')
  assert.ok(crowd.residentMiB < before + MOST_MIB, `${before} MiB before, ${crowd.residentMiB} MiB afterwards`)
}

/** The default of `live_statements_per_user`. */
const PER_USER = 1000
/** Twice the default memory for all live results of a node. */
const MOST_MIB = 512

/** A statement whose every run takes long: about 20 s on SQLite. */
async function long(): Promise<void> {
  const joined = `SELECT count(*) AS n FROM ${['a', 'b', 'c', 'd'].map((name) => `ticks ${name}`).join(' CROSS JOIN ')}
    WHERE a.id < 80 AND a.id + b.id + c.id + d.id < -(SELECT count(*) FROM gate)
      AND b.id < 1000 * (SELECT count(*) FROM gate)`
  await crowd.query('CREATE TABLE gate (id Integer PRIMARY KEY)')
  const { client } = await crowd.follow(joined)
  const { client: beside } = await crowd.follow('SELECT price FROM ticks WHERE id = 5')
  await crowd.query('INSERT INTO gate VALUES (1)')
  const began = performance.now()
  report('a statement that takes long', await crowd.timesBeside(changes(200)))
  await crowd.agree([beside])
  console.log(`after ${Math.round((performance.now() - began) / 1000)} s: ${client.ended ?? 'it goes on'}`)
  crowd.hangUp()
}

/** The part of that process: answers by their kinds. It keeps the connections open. */
async function askAll(port: number, tokens: readonly string[], count: number): Promise<void> {
  const answers = new Map<string, number>()
  const connection = async (number: number): Promise<void> => {
    const token = tokens[number % tokens.length]
    const client = await connect(port, { headers: { Authorization: `Bearer ${token}` } })
    for (let index = 0; index < 100; index++) {
      const Statement = `SELECT price FROM ticks WHERE id = ${index} AND price > ${-number}`
      const sub = { Controller: 'Query', Topic: `Live/${index}`, Action: 'Sub', Data: { Statement } }
      const { Action, Data } = await client.request(sub)
      const answer = Action === 'Error' ? String(Data) : 'served'
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: Math.ceil(count / 100) }, (_connection, number) => connection(number)))
  process.send?.([...answers])
}

async function manyTables(): Promise<void> {
  const followed = []
  for (let index = 0; index < tables; index++) {
    await crowd.query(`CREATE TABLE table_${index} (id Integer PRIMARY KEY, v Integer)`)
    followed.push((await crowd.follow(`SELECT id, v FROM table_${index}`)).client)
  }
  const write = async (): Promise<void> => {
    for (let round = 0; round < 5; round++)
      for (let index = 0; index < tables; index++) await crowd.query(`INSERT INTO table_${index} VALUES (${round}, 0)`)
  }
  report(`writes to ${tables} tables`, await crowd.timesBeside(write()))
  await crowd.agree(followed)
}

try {
  const times = await crowd.timesBeside(sleep(4000))
  report('alone', times)
  alone = times
  await storm()
  await stall()
  await ask()
  await long()
  await manyTables()
} finally {
  await crowd.close()
  await leave()
  await stopOwnPostgres()
}
