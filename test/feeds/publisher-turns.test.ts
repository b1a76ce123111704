/** Which requests are written next. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PublisherTurns, type QueuedRequest, withoutChosen } from '../../packages/server/src/feeds/publisher-turns.ts'

const requests = (publisher: string, size: number, count: number): QueuedRequest[] =>
  Array.from({ length: count }, () => ({ publisher, size }))

test('one publisher alone has whole groups', () => {
  const turns = new PublisherTurns()
  const waiting = requests('one', 100, 30)
  for (let group = 0; group < 3; group++) assert.equal(turns.choose(waiting, 1_000).length, 10)
})

test('a request that is larger than a group is chosen alone', () => {
  assert.deepEqual(new PublisherTurns().choose(requests('one', 5_000, 2), 1_000), [{ publisher: 'one', size: 5_000 }])
})

test('a publisher with little to write waits for at most one group of a flood', () => {
  for (const size of [1, 100, 1_000, 10_000]) {
    const turns = new PublisherTurns()
    let waiting = requests('heavy', size, 5_000)
    for (let round = 0; round < 5; round++) {
      const light = { publisher: 'light', size: 1 }
      waiting = [...waiting, light]
      const groups = [turns.choose(waiting, 1_000)]
      waiting = withoutChosen(waiting, groups[0] ?? [])
      if (!groups[0]?.includes(light)) groups.push(turns.choose(waiting, 1_000))
      waiting = withoutChosen(waiting, groups[1] ?? [])
      assert.ok(groups.at(-1)?.includes(light))
      // Other publishers have not come, so the flood goes on.
      assert.ok(turns.choose(waiting, 1_000).every(({ publisher }) => publisher === 'heavy'))
    }
  }
})

test('many publishers with little to write do not keep a long request waiting', () => {
  const turns = new PublisherTurns()
  const long = { publisher: 'heavy', size: 10_000 }
  let waiting: QueuedRequest[] = [long]
  let groups = 0
  for (let chosen: readonly QueuedRequest[] = []; !chosen.includes(long); groups++) {
    waiting = [...Array.from({ length: 50 }, (_, index) => ({ publisher: `${groups} ${index}`, size: 1 })), ...waiting]
    waiting = [...waiting.filter((request) => request === long), ...waiting.filter((request) => request !== long)]
    chosen = turns.choose(waiting, 1_000)
    waiting = withoutChosen(waiting, chosen)
  }
  assert.ok(groups <= 2)
})

test('the requests of one publisher keep their order', () => {
  const turns = new PublisherTurns()
  const own = Array.from({ length: 300 }, (_, index) => ({ publisher: index % 3 === 0 ? 'a' : 'b', size: 7, index }))
  let waiting = own
  const order: typeof own = []
  while (waiting.length > 0) {
    const chosen = turns.choose(waiting, 100)
    order.push(...chosen)
    waiting = withoutChosen(waiting, chosen)
  }
  for (const name of ['a', 'b'])
    assert.deepEqual(
      order.filter(({ publisher }) => publisher === name),
      own.filter(({ publisher }) => publisher === name),
    )
})
