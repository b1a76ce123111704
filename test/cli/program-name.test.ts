/** Hints name the program as the user can start it again, and never a name that a package manager would look up elsewhere. */
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { programName } from '../../packages/server/src/cli/program.ts'
import { CLONE_PROGRAM } from '../../packages/server/src/lib/program-files.ts'

const clone = dirname(CLONE_PROGRAM)

for (const [what, started, folder, isClone, name] of [
  ['in a clone', CLONE_PROGRAM, clone, true, './gatehouse'],
  ['by npm start', join(clone, 'packages/server/bin/gatehouse.js'), clone, true, './gatehouse'],
  ['in a folder of a clone', CLONE_PROGRAM, join(clone, 'examples', 'spa'), true, '../../gatehouse'],
  ['by a link to a clone', '/usr/local/bin/gatehouse', '/', true, 'gatehouse'],
  ['installed globally', '/usr/local/bin/gatehouse', '/', false, 'gatehouse'],
  ['installed in a project', '/own/node_modules/.bin/gatehouse', '/own', false, 'node_modules/.bin/gatehouse'],
] as const)
  test(`started ${what}, it is ${name}`, () => {
    assert.equal(programName(started, folder, isClone), name)
  })
