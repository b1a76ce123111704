/**
 * kill -9 of a server that writes segments amid changes, and databases that come back with other files than they had: of an earlier or a
 * later time, or none. The answers are always those of the rows.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { Choice } from '../agree/choice.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? (IS_LONG_RUN ? 40 : 1))
const PROGRAM = fileURLToPath(new URL('./segment-server.ts', import.meta.url))
/** The condition that is added can only be tested with the rows. */
const STATEMENTS = [
  'SELECT symbol, count(*) AS n, sum(price) AS s, min(id) AS a, max(size) AS b FROM t WHERE size >= 0 GROUP BY symbol',
  'SELECT size, count(DISTINCT price) AS c, last(symbol, id) AS l FROM t WHERE size >= 0 GROUP BY size',
] as const

interface Started {
  readonly url: string
  readonly process: ChildProcess
}

test(`${ROUNDS} times kill -9, and databases with the files of another time`, async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-killed-'))
  const choice = new Choice(Number(process.env.SEED ?? 3))
  const [folder, copy] = [join(scratch, 'data'), join(scratch, 'copy')]
  mkdirSync(folder)
  const former: string[] = []
  let server = await start(folder)
  try {
    await must(
      server,
      'CREATE TABLE t (id Integer PRIMARY KEY, symbol Text, price Decimal(9,2), size Integer) WITH (columns = on)',
    )
    let last = 0
    for (let round = 0; round < ROUNDS; round++) {
      const end = Date.now() + 600 + choice.below(600)
      for (; Date.now() < end; last += 150) {
        await must(
          server,
          `INSERT INTO t SELECT n, 'S' || CAST(n % 30 AS Text), CAST(n % 50 AS Decimal(9,2)), n % 11 FROM generate_series(${last + 1}, ${last + 150}) AS n`,
        )
        await must(server, `UPDATE t SET price = price + 1 WHERE id = ${choice.below(last + 1)}`)
        await must(
          server,
          `DELETE FROM t WHERE id BETWEEN ${choice.below(last + 1)} AND ${choice.below(last + 1) % 50}`,
        )
      }
      await stop(server)
      // What a copy of the folder at this moment has; the database may then meet files of another round.
      const kept = join(scratch, `round-${round}`)
      cpSync(folder, kept, { recursive: true })
      former.push(kept)
      rmSync(copy, { recursive: true, force: true })
      cpSync(choice.of(former), copy, { recursive: true })
      rmSync(join(copy, 'columns'), { recursive: true, force: true })
      const files = join(choice.of(former), 'columns')
      if (!choice.oneIn(4) && existsSync(files)) cpSync(files, join(copy, 'columns'), { recursive: true })
      for (const at of [copy, folder]) {
        const again = await start(at)
        for (let n = 0; n < 4; n++) {
          await compare(again, `round ${round}`)
          await must(again, `UPDATE t SET size = 3 WHERE id = ${choice.below(last + 1)}`)
        }
        if (at === folder) server = again
        else await stop(again)
      }
    }
    await until('segments are read', 60_000, async () => (await compare(server, 'at the end')) > 0)
    await stop(server)
    assert.ok(readdirSync(join(folder, 'columns')).length > 0)
  } finally {
    server.process.kill('SIGKILL')
    rmSync(scratch, { recursive: true, force: true })
  }
})

/** Returns how many segments were read. */
async function compare(server: Started, about: string): Promise<number> {
  let read = 0
  for (const statement of STATEMENTS) {
    const [explained] = (await must(server, `EXPLAIN ${statement}`)).slice(-1)
    read += Number(/columns: (\d+) segment/.exec(String(explained))?.[1] ?? 0)
    const rows = statement.replace('size >= 0', 'size % 100 >= 0')
    assert.deepEqual(await must(server, statement), await must(server, rows), `${about}: ${statement}`)
  }
  return read
}

async function must(server: Started, statement: string): Promise<unknown[][]> {
  const reply = await fetch(`${server.url}/query?rows=arrays`, {
    method: 'POST',
    headers: { authorization: 'Bearer admin', 'content-type': 'text/plain' },
    body: statement,
  })
  const text = await reply.text()
  assert.equal(reply.status, 200, `${statement}: ${text}`)
  return JSON.parse(text).Rows
}

async function start(dataFolder: string): Promise<Started> {
  const child = spawn(process.execPath, [PROGRAM, dataFolder], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stderr.resume()
  const [line] = await once(child.stdout, 'data')
  child.stdout.resume()
  return { url: String(line).trim(), process: child }
}

/** Its query processes, which share its stderr, end a moment after it and may replace files until then: `close` comes after them. */
async function stop({ process: child }: Started): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'close')
}
