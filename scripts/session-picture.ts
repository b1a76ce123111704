/** Draws docs/session.svg: a real session with the demo in a terminal. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pasteLines } from '../packages/server/src/cli/output/banner.ts'

const run = promisify(execFile)
const SHOWN_ISSUER = 'http://localhost:5080'
const COLUMNS = 116
const LINE_PX = 19
const CHARACTER_PX = 8.43

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'gatehouse-picture-'))
const program = join(root, 'gatehouse')
const server = spawn(process.execPath, [program, 'serve', '--demo', '--port', '0', '--data', join(folder, 'data')], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const issuer = await readIssuer()
  await writeFile(join(folder, 'password'), 'wonderland-1\n')
  const lines = await session(issuer)
  await writeFile(join(root, 'docs/session.svg'), draw(lines.map((line) => line.replaceAll(issuer, SHOWN_ISSUER))))
} finally {
  server.kill()
  await once(server, 'exit')
  await rm(folder, { recursive: true })
}

async function readIssuer(): Promise<string> {
  let banner = ''
  for await (const chunk of server.stdout.setEncoding('utf8')) {
    banner += chunk
    const issuer = /Identity {3}(\S+)/.exec(banner)?.[1]
    if (issuer !== undefined && banner.includes('All data is in')) return issuer
  }
  throw new Error('The server ended before it printed its address')
}

/** The lines typed, marked with `$ `, and their output, cut to the width of the terminal. */
async function session(issuer: string): Promise<string[]> {
  const [discovery = '', token = '', query = '', select = '', live = ''] = pasteLines(issuer)
  const typed = [discovery, token, query, select]
  const { stdout } = await run('sh', ['-c', typed.join('\n')])
  const answers = stdout.trimEnd().split('\n')
  // curl ends with an error when its time is over.
  const { stdout: events } = await run('sh', ['-c', `${token} > /dev/null\n${live} || true`])
  const message = '{"Controller":"Auth","Topic":"QueryIdentify","TransactionID":7}'
  const stream = `echo '${message}' | ./gatehouse stream --username alice`
  const real = `echo '${message}' | "${process.execPath}" "${program}" stream ${issuer} --username alice --password-file "${join(folder, 'password')}" 2>/dev/null`
  const { stdout: streamed } = await run('sh', ['-c', real])
  return [
    ...typed.flatMap((line, index) => [...wrapped(`$ ${line}`), cut(answers[index] ?? ''), '']),
    ...wrapped(`$ ${live}`),
    ...firstEvents(events),
    '',
    ...wrapped(`$ ${stream}`),
    'Password for alice:',
    cut(streamed.trimEnd()),
  ]
}

/** The snapshot and a change. */
function firstEvents(text: string): string[] {
  const events = text.split('\n\n').filter((event) => event.startsWith('event: '))
  if (events.length < 2) throw new Error('The market did not trade')
  return events.slice(0, 2).flatMap((event) => event.split('\n').map(cut))
}

function wrapped(line: string): string[] {
  const parts = line.match(new RegExp(`.{1,${COLUMNS - 2}}`, 'g')) ?? []
  return parts.map((part, index) => (index === 0 ? part : `  ${part}`))
}

function cut(line: string): string {
  return line.length <= COLUMNS ? line : `${line.slice(0, COLUMNS - 1)}…`
}

function draw(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CHARACTER_PX) + 40
  const height = lines.length * LINE_PX + 40
  let typing = false
  const texts = lines.map((line, index) => {
    typing = line.startsWith('$ ') || (typing && line.startsWith('  '))
    return `<text x="20" y="${34 + index * LINE_PX}"${typing ? ' class="typed"' : ''}>${asMarkup(line)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A session with the demonstration in a terminal">
<style>text { font: 14px ui-monospace, Menlo, Consolas, monospace; white-space: pre; fill: #c9d1d9 } .typed { fill: #7ee787 }</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${texts.join('\n')}
</svg>
`
}

function asMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
