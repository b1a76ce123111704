/** `npm run release -- VERSION`: makes a release of this clone, and packs it into the folder `release`. CONTRIBUTING.md says what comes next. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MIGRATIONS } from '../../packages/server/src/store/database/migrations.ts'
import { packRelease } from './packages.ts'
import { release } from './release.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const [version, ...others] = process.argv.slice(2)
if (version === undefined || others.length > 0) {
  process.stderr.write('Usage: npm run release -- VERSION, as 1.1.0 or 1.1.0-rc.1\n')
  process.exit(2)
}
try {
  const date = new Date().toISOString().slice(0, 10)
  let files: readonly string[] = []
  const pack = async () => {
    files = await packRelease(root, join(root, 'release'))
  }
  await release({ root, version, date, schema: MIGRATIONS.length, pack })
  process.stdout.write(`Committed and tagged as v${version}. Nothing is published.\n`)
  for (const file of files) process.stdout.write(`  release/${file}\n`)
} catch (error) {
  process.stderr.write(`There is no release: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
