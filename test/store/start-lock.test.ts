/** The lock under which servers start on a data folder: one at a time, and no file is left. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockStart } from '../../packages/server/src/store/cluster/start-lock.ts'

let base: string
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'gatehouse-lock-'))
})
after(() => rm(base, { recursive: true, force: true }))

test('of many that take turns, never two have it, although each removes the file; the last leaves nothing', async () => {
  const dataFolder = await mkdtemp(join(base, 'turns-'))
  let holders = 0
  let turns = 0
  const waits: number[] = []
  async function takeTurns(number: number): Promise<void> {
    for (let round = 0; round < 4; round++) {
      const unlock = await lockStart({ dataFolder, url: '', onWait: () => waits.push(number) })
      holders += 1
      assert.equal(holders, 1)
      // Longer than the pause between two tries, so that all the others try meanwhile.
      await sleep(25)
      assert.equal(holders, 1)
      holders -= 1
      turns += 1
      await unlock()
      await unlock()
    }
  }
  await Promise.all(Array.from({ length: 4 }, (_value, number) => takeTurns(number)))
  assert.equal(turns, 16)
  assert.ok(waits.length > 0 && waits.length <= 16, 'each wait is told once')
  assert.equal(existsSync(join(dataFolder, 'start.lock.tmp')), false)
})

test('a file that a killed process has left is removed by the next, and does not count as data', async () => {
  const dataFolder = await mkdtemp(join(base, 'killed-'))
  await writeFile(join(dataFolder, 'start.lock.tmp'), '')
  const unlock = await lockStart({ dataFolder, url: '' })
  await unlock()
  assert.deepEqual(await readdir(dataFolder), [])
})
