/** A worker that hangs, here because it is stopped with SIGSTOP, is killed and replaced, and holds up neither a stop nor a reload. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { type TestContext, test } from 'node:test'
import { IN_LONG_RUNS, openPlace } from '../support/engines.ts'
import { freshRequest } from '../support/fresh-request.ts'
import { serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

async function serveWithHung(t: TestContext) {
  const { place, leave } = await openPlace('sqlite')
  const flags = ['--workers', '2', '--worker-timeout', '2', '--stream-drain-time', '0.1', '--data', place.dataFolder]
  const server = await serveProcess(flags)
  const lines = (message: string) =>
    server
      .output()
      .stdout.split('\n')
      .filter((line) => line.includes(`"msg":"${message}`))
      .map((line): { worker: number; pid: number; node: string } => JSON.parse(line))
  await until('all workers have started', 20_000, () => lines('all workers have started').length === 1)
  const pids = lines('started').map(({ node }) => Number(node.slice(hostname().length + 1)))
  t.after(async () => {
    server.child.kill('SIGKILL')
    for (const pid of pids) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
    await server.ended
    await leave()
  })
  const [hung = 0] = pids
  process.kill(hung, 'SIGSTOP')
  return { server, lines, hung }
}

test('a worker that hangs is killed and replaced', async (t) => {
  const { server, lines, hung } = await serveWithHung(t)
  await until('it is replaced', 20_000, () => lines('started').length === 3)
  assert.ok(!isRunning(hung))
  assert.deepEqual(
    lines('killing a worker that does not respond').map(({ pid }) => pid),
    [hung],
  )
  for (let n = 0; n < 4; n++) assert.equal((await freshRequest(server.port, '/healthz')).status, 200)
})

test('a worker that hangs does not hold up a stop', IN_LONG_RUNS, async (t) => {
  const { server, hung } = await serveWithHung(t)
  const since = performance.now()
  assert.equal(await server.stop('SIGTERM'), 1, 'one could not stop cleanly')
  assert.ok(performance.now() - since < 10_000)
  assert.ok(!isRunning(hung))
})

test('a worker that hangs does not hold up a reload, nor a later one', IN_LONG_RUNS, async (t) => {
  const { server, lines } = await serveWithHung(t)
  for (const reloads of [1, 2]) {
    server.child.kill('SIGHUP')
    await until('all are replaced', 20_000, () => lines('all workers have been replaced').length === reloads)
  }
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
