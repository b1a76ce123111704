/** The model of live queries for a short time; `fuzz/live.ts` runs it for longer. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { LiveModel } from './model.ts'
import { type ModelNodes, startNodes } from './model-nodes.ts'

const STEPS = 40

onEveryEngineInLongRuns('the model of live queries', (place) => {
  let nodes: ModelNodes
  let model: LiveModel
  before(async () => {
    nodes = await startNodes(place())
  })
  after(async () => {
    await model.close()
    await nodes.stop()
  })

  test('at each position a client holds what a query returned there', async (t) => {
    const seed = Date.now() % 2 ** 31
    t.diagnostic(`seed ${seed}`)
    model = await LiveModel.open({ ...nodes, place: place(), seed, clients: 12 })
    for (let count = 0; count < 8; count++) await model.subscribe()
    for (let step = 1; step <= STEPS; step++) {
      await model.step()
      if (step % 20 === 0) await model.settle()
    }
    await model.close()
    const { checked, answers } = model.report
    t.diagnostic(JSON.stringify(model.report))
    assert.ok(checked.keys + checked.rerun + checked.clock > 20, JSON.stringify(model.report))
    assert.ok(answers.recovered > 0, JSON.stringify(model.report))
  })
})
