/** Fills in missing results of corpus blocks from both engines. Disagreements are reported and left open. Review the output. */
import { readFileSync, writeFileSync } from 'node:fs'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { ask, readCorpus, writeCorpus } from './corpus.ts'
import { startQueryServer } from './query-server.ts'

for (const file of process.argv.slice(2)) {
  const blocks = readCorpus(readFileSync(file, 'utf8'))
  const places = [await openPlace('sqlite'), await openPlace('postgres')]
  const servers = await Promise.all(places.map(({ place }) => startQueryServer(place)))
  const recorded = []
  for (const block of blocks) {
    if (block.statement === '') {
      recorded.push(block)
      continue
    }
    const [first, second] = await Promise.all(servers.map((server) => ask(server, block.statement)))
    const isSetup =
      /^\s*(create|insert|drop|alter|update|delete)\b/i.test(block.statement) &&
      first?.lines.length === 1 &&
      first.lines[0]?.startsWith('=')
    if (first?.bytes !== second?.bytes) {
      console.log(
        `${file}:${block.line} differs\n${block.statement}\n  sqlite   ${first?.lines.join(' / ')}\n  postgres ${second?.lines.join(' / ')}\n  ${first?.bytes.slice(0, 150)}\n  ${second?.bytes.slice(0, 150)}`,
      )
      recorded.push(block)
    } else if (first?.lines.some((line) => line.startsWith('! 5'))) {
      console.log(`${file}:${block.line} fails\n${block.statement}\n  ${first.lines.join(' / ')}`)
      recorded.push(block)
    } else {
      if (block.expected.length > 0 && block.expected.join('\n') !== first?.lines.join('\n')) {
        console.log(`${file}:${block.line} was\n  ${block.expected.join(' / ')}\nis\n  ${first?.lines.join(' / ')}`)
      }
      recorded.push(block.expected.length > 0 || isSetup ? block : { ...block, expected: first?.lines ?? [] })
    }
  }
  writeFileSync(file, writeCorpus(recorded))
  for (const server of servers) {
    for (const line of server.log.filter((entry) => entry.includes('"level":"error"'))) console.log(line.slice(0, 600))
    await server.stop()
  }
  for (const { leave } of places) await leave()
}
await stopOwnPostgres()
