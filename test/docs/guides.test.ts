/** Every guide is in the index and is followed by a test; how its blocks are read. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { readBlocks } from '../support/guide.ts'

const root = new URL('../../', import.meta.url).pathname

test('every guide is in the index and is followed by a test', async () => {
  const index = await readFile(join(root, 'docs/README.md'), 'utf8')
  const tests = await Array.fromAsync(glob('test/docs/guides/*.test.ts', { cwd: root }), (file) =>
    readFile(join(root, file), 'utf8'),
  )
  for await (const page of glob('docs/guides/*.md', { cwd: root })) {
    const name = basename(page, '.md')
    assert.ok(index.includes(`(guides/${name}.md)`), `${page} is not in docs/README.md`)
    assert.ok(
      tests.some((text) => text.includes(`openGuide('${name}'`) && text.includes('.finish()')),
      `no test in test/docs/guides follows ${page} to its end`,
    )
  }
})

test('the blocks of a guide: commands, what they print, and files', () => {
  const page = `# Guide

Start it:

\`\`\`
npm start
\`\`\`
\`\`\`text
It is running …
\`\`\`

Then save this as \`first/index.html\`, in an editor:

\`\`\`html
<p>Hello
\`\`\`
`
  assert.deepEqual(readBlocks(page), [
    { language: 'sh', text: 'npm start\n', file: undefined, line: 6 },
    { language: 'text', text: 'It is running …\n', file: undefined, line: 9 },
    { language: 'html', text: '<p>Hello\n', file: 'first/index.html', line: 15 },
  ])
})
