/** Signals as operators, systemd and terminals send them: to every process at once, twice, and during a start. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { lockStart } from '../../packages/server/src/store/cluster/start-lock.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { onEveryEngine, openPlace } from '../support/engines.ts'
import { launchGatehouse, serveProcess } from '../support/process.ts'
import { until } from '../support/until.ts'

const SLOW = 'SELECT count(*) AS n FROM trades a, trades b WHERE b.id <= 10 AND a.price + b.price > 0'

test('SIGTERM to all processes and again from the launcher is one signal: the query in flight is answered', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  t.after(leave)
  const node = await serveProcess(['--demo', '--data', place.dataFolder, '--stop-delay', '0'], { detached: true })
  const { pid } = node.child
  assert.ok(pid !== undefined)
  t.after(() => node.stop('SIGKILL'))
  const { access_token } = await signIn(node, ADMIN)
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'text/plain; charset=utf-8' }
  const answer = fetch(`${node.issuer}/query`, { method: 'POST', headers, body: SLOW })
  await until('the query runs', 20_000, () => isRunning(node.issuer, headers))
  process.kill(-pid, 'SIGTERM')
  await until('it stops', 10_000, () => node.output().stdout.includes('"msg":"stopping"'))
  node.child.kill('SIGTERM')
  assert.equal((await answer).status, 200)
  assert.equal(await node.ended, 0)
  assert.match(node.output().stdout, /"msg":"stopped"/)
})

onEveryEngine('while a start waits for another', (place) => {
  const serve = async () => {
    const { dataFolder, databaseUrl } = place()
    const unlock = await lockStart({ dataFolder, url: databaseUrl })
    const flags = ['--data', dataFolder, ...(databaseUrl === '' ? [] : ['--database-url', databaseUrl])]
    const started = launchGatehouse(['serve', '--port', '0', '--stop-delay', '0', ...flags])
    after(() => started.child.kill('SIGKILL'))
    const logged = (message: string) => until(message, 20_000, () => started.output().stdout.includes(message))
    await logged('waiting for another node')
    return { ...started, unlock, logged }
  }

  test('SIGTERM ends it', async () => {
    const { child, ended, output, unlock } = await serve()
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    assert.equal(output().stderr, '')
    await unlock()
  })

  test('SIGHUP is kept for its end', async () => {
    const { child, ended, unlock, logged } = await serve()
    child.kill('SIGHUP')
    await unlock()
    await logged('"msg":"started"')
    await logged('settings and certificates reloaded')
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
  })
})

async function isRunning(issuer: string, headers: Record<string, string>): Promise<boolean> {
  const reply = await fetch(`${issuer}/admin/queries`, { headers })
  return (await reply.text()).includes('"statement"')
}
