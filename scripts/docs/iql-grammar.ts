/** Collects the grammar of IQL from the comments above the parser functions. */
import { readFileSync } from 'node:fs'

const FILES = [
  'parser.ts',
  'parse-select.ts',
  'named-windows.ts',
  'parse-expression.ts',
  'parse-type.ts',
  'parse-call.ts',
  'parse-quantified.ts',
  'parse-frame.ts',
  'parse-write.ts',
  'parse-define.ts',
  'parse-kept-view.ts',
  'parse-columns.ts',
  'token-stream.ts',
  'lexer.ts',
] as const

export interface Rule {
  readonly name: string
  /** The lines of the rule, the first without the name. */
  readonly lines: readonly string[]
}

/** Every rule in the order of the files: a comment line `Name = …` and its continuation lines. */
export function grammarRules(): Rule[] {
  return FILES.flatMap((file) => {
    const source = readFileSync(new URL(`../../packages/iql/src/syntax/${file}`, import.meta.url), 'utf8')
    return [...source.matchAll(/\/\*\*([\s\S]*?)\*\//g)].flatMap(([, comment = '']) => rulesIn(comment))
  })
}

function rulesIn(comment: string): Rule[] {
  const rules: { name: string; lines: string[] }[] = []
  for (const raw of comment.split('\n')) {
    const line = raw.replace(/^\s*\* ?/, '').trimEnd()
    const start = /^\s*([A-Z][A-Za-z]*) = (.+)$/.exec(line)
    const last = rules.at(-1)
    if (start !== null) rules.push({ name: start[1] ?? '', lines: [(start[2] ?? '').trim()] })
    else if (last !== undefined && /^\s{2,}\S/.test(line)) last.lines.push(line.trim())
  }
  return rules
}

export function grammarText(): string {
  return grammarRules()
    .map(({ name, lines }) => {
      const indent = ' '.repeat(name.length)
      const [first = '', ...rest] = lines
      const more = rest.map((line) => (line.startsWith('|') ? `${indent} ${line}` : `${indent}   ${line}`))
      return [`${name} = ${first}`, ...more].join('\n')
    })
    .join('\n')
}
