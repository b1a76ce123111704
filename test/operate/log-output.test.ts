/** The log on standard output: lines are written together, and none is lost when the process ends. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

const LOG = new URL('../../packages/server/src/telemetry/log.ts', import.meta.url).href

test('lines are written soon, in their order, while the process runs', async () => {
  const child = start(`
    for (let line = 0; line < 100; line++) logger.info({ line }, 'line')
    setTimeout(() => logger.info({ line: 100 }, 'line'), 50)
    setInterval(() => {}, 1000)`)
  let written = ''
  for await (const chunk of child.stdout) {
    written += chunk
    if (readLines(written).includes(100)) break
  }
  child.kill()
  assert.deepEqual(
    readLines(written),
    Array.from({ length: 101 }, (_, line) => line),
  )
})

for (const [how, end] of [
  ['process.exit', 'process.exit()'],
  ['the end of its work', ''],
  ['an uncaught error', "setImmediate(() => { throw new Error('test') })"],
]) {
  test(`a process that ends by ${how} has written its last line`, async () => {
    const child = start(
      `logger.info({ line: 0 }, 'line'); logger.fatal({ line: 1 }, 'line'); logger.info({ line: 2 }, 'line'); ${end}`,
    )
    assert.deepEqual(readLines(await text(child.stdout)), [0, 1, 2])
  })
}

function start(program: string) {
  const logger = `import { createLogger } from ${JSON.stringify(LOG)}; const logger = createLogger({ level: 'info', format: 'json' });`
  return spawn(process.execPath, ['--input-type=module', '--eval', logger + program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

function readLines(written: string): number[] {
  return [...written.matchAll(/"line":(\d+)/g)].map(([, line]) => Number(line))
}
