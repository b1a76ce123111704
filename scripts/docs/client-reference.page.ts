/** Renders docs/client-reference.md from the doc comments of the client library, read by the parser of TypeScript. */
import { fileURLToPath } from 'node:url'
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { type GeneratedPage, NOTICE } from './page.ts'

const client = fileURLToPath(new URL('../../packages/client/', import.meta.url))

/** The sections, and the files whose exports they hold. */
const SECTIONS: readonly (readonly [string, readonly string[]])[] = [
  ['The client', ['gatehouse.ts', 'http.ts']],
  ['Signing in', ['auth/browser.ts', 'auth/grants.ts', 'auth/storage.ts', 'auth/token-source.ts']],
  ['Queries', ['query.ts', 'statement.ts', 'values.ts']],
  ['Tables', ['table.ts']],
  ['Saved queries and boards', ['saved.ts']],
  ['Live queries', ['stream/live.ts', 'stream/events.ts']],
  ['Alerts', ['alerts.ts']],
  ['Feeds', ['feed/feed.ts', 'feed/subscription.ts', 'feed/source.ts', 'feed/message.ts']],
  ['Licensed market data', ['licences.ts', 'licence-labels.ts']],
  ['Streaming', ['stream/stream.ts', 'stream/subscription.ts', 'stream/protocol.ts']],
  ['Administration', ['admin.ts']],
  ['Errors', ['errors.ts']],
]

export const page: GeneratedPage = {
  path: 'docs/client-reference.md',
  render() {
    const api = new API({ cwd: client })
    try {
      const [project] = api.updateSnapshot({ openProjects: [`${client}tsconfig.json`] }).getProjects()
      const read = (file: string): SourceFile => {
        const source = project?.program.getSourceFile(`${client}src/${file}`)
        if (source === undefined) throw new Error(`${file} is not a file of the client`)
        return source
      }
      const exported = findExports(read('index.ts'))
      const missing = new Set(exported.values())
      const sections = SECTIONS.map(([title, files]) => {
        const entries = files.flatMap((file) => {
          missing.delete(file)
          return describeFile(
            read(file),
            new Set([...exported].filter(([, from]) => from === file).map(([name]) => name)),
          )
        })
        return `## ${title}\n\n${entries.join('\n')}`
      })
      if (missing.size > 0) throw new Error(`These files are in no section: ${[...missing].join(', ')}`)
      return `${NOTICE}\n\n# Reference of the client library\n\n${INTRODUCTION}\n\n${sections.join('\n')}`
    } finally {
      api.close()
    }
  },
}

const INTRODUCTION = `Everything that \`gatehouse-client\` exports. The [guide](client.md) shows how it is used together.`

/** What index.ts exports, with the file that it is from. */
function findExports(index: SourceFile): Map<string, string> {
  const found = new Map<string, string>()
  for (const [, names = '', file = ''] of index.text.matchAll(/export (?:type )?\{([^}]+)\} from '\.\/([^']+)'/g))
    for (const name of names.split(',').map((part) => part.trim().replace(/^type /, '')))
      if (name !== '') found.set(name, file)
  return found
}

function describeFile(source: SourceFile, names: ReadonlySet<string>): string[] {
  return source.statements.flatMap((statement) => {
    const name = readName(statement)
    if (name === undefined || !names.has(name)) return []
    return [describe(source, statement, name)]
  })
}

type Declared = Node & {
  readonly name?: Node & { readonly text?: string }
  readonly body?: Node
  readonly members?: readonly Declared[]
}

function readName(node: Node): string | undefined {
  return (node as Declared).name?.text
}

function describe(source: SourceFile, node: Node, name: string): string {
  const { text, example } = readComment(source, node)
  const members = (node as Declared).members ?? []
  const hasMembers = node.kind === SyntaxKind.ClassDeclaration || node.kind === SyntaxKind.InterfaceDeclaration
  const needsExample = node.kind === SyntaxKind.ClassDeclaration || node.kind === SyntaxKind.FunctionDeclaration
  if (text === '' || (needsExample && example === '')) throw new Error(`${name} lacks a description or an example`)
  const rows = hasMembers ? members.flatMap((member) => describeMember(source, member)) : []
  return [
    `### ${name}`,
    '',
    ...(hasMembers ? [] : ['```ts', createSignature(source, node), '```', '']),
    ...(text === '' ? [] : [text, '']),
    ...(example === '' ? [] : [example, '']),
    ...(rows.length === 0 ? [] : ['| member | |', '|---|---|', ...rows, '']),
  ].join('\n')
}

function describeMember(source: SourceFile, member: Declared): string[] {
  const { text, isInternal } = readComment(source, member)
  const signature = createSignature(source, member).replace(/\s+/g, ' ')
  const isHidden =
    isInternal || signature.startsWith('#') || /^readonly #|^get #|^async #|^constructor\(/.test(signature)
  if (isHidden || signature.includes('[Symbol.')) return []
  const cell = (part: string): string => part.replaceAll('\n', ' ').replaceAll('|', '\\|')
  const short = signature
    .replace(/^get (\w+)\(\)/, '$1')
    .replace(/^(?:declare )?readonly |^async \*?/, '')
    .replaceAll(' | undefined', '')
  return [`| \`${cell(short)}\` | ${cell(text)} |`]
}

/** The declaration without its body, its comment and `export`. */
function createSignature(source: SourceFile, node: Declared): string {
  const start = node.pos + leadingTrivia(source, node).length
  const end = node.body === undefined ? node.end : node.body.pos
  return source.text
    .slice(start, end)
    .replace(/^export /, '')
    .replace(/;$/, '')
    .trim()
}

function leadingTrivia(source: SourceFile, node: Node): string {
  return /^(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\n]*)*/.exec(source.text.slice(node.pos, node.end))?.[0] ?? ''
}

/** The last doc comment before a declaration: its text, and its example. */
function readComment(source: SourceFile, node: Node): { text: string; example: string; isInternal: boolean } {
  const comment = [...leadingTrivia(source, node).matchAll(/\/\*\*([\s\S]*?)\*\//g)].at(-1)?.[1] ?? ''
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
  const [text = '', example = ''] = lines.join('\n').split('@example')
  return { text: text.trim(), example: example.trim(), isInternal: text.includes('@internal') }
}
