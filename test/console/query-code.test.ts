/** "Copy as" of the area Query: the code contains exactly the statement and the parameters, whatever is in them. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { codeFor } from '../../packages/console/src/areas/query/copy-as.ts'

const URL_OF_GATE = 'http://localhost:5080'
const STATEMENTS = [
  'select 1 from trades',
  `select 'it''s', "a \\"" from t\nwhere x = '$HOME \`id\` \${y} \\n !' and y = '"""' -- "`,
  'select 1\n-- \\"""\n-- """" "\n-- """',
  'select \'ä😀\' as "quoted"',
]
const PARAMETERS = { symbol: `A'C"M\\E$(id)\``, least: null, '1': '5' }

test('curl: a shell passes the body on as it is', () => {
  for (const text of STATEMENTS) {
    const code = codeFor('curl', URL_OF_GATE, text, PARAMETERS)
    const script = `curl() { for last; do :; done; printf %s "$last"; }\n${code}`
    const body = execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { TOKEN: 'x' } })
    assert.deepEqual(JSON.parse(body), { Statement: text, Parameters: PARAMETERS })
  }
  assert.doesNotMatch(codeFor('curl', URL_OF_GATE, 'select 1', {}), /Parameters/)
})

test('TypeScript: the template and the parameters evaluate to what was written', () => {
  for (const text of STATEMENTS) {
    const code = codeFor('typescript', URL_OF_GATE, text, PARAMETERS)
    const call = /gate\.query\((statement\([\s\S]*\))\)\nconsole/.exec(code)?.[1] ?? ''
    const given: unknown = new Function('statement', `return ${call}`)((...all: unknown[]) => all)
    assert.deepEqual(given, [text, PARAMETERS])
  }
})

test('Python: the literals evaluate to what was written', (t) => {
  for (const text of STATEMENTS) {
    const code = codeFor('python', URL_OF_GATE, text, PARAMETERS)
    const literal = /json\.dumps\(([\s\S]*)\)\.encode\(\)/.exec(code)?.[1] ?? ''
    let written: string
    try {
      written = execFileSync('python3', ['-c', `import json\nprint(json.dumps(${literal}))`], { encoding: 'utf8' })
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error
      t.skip('there is no Python here')
      return
    }
    assert.deepEqual(JSON.parse(written), { Statement: text, Parameters: PARAMETERS })
  }
})
