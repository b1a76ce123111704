/** Lets a model answer the thirty questions of test/mcp/market by the tools of agents: `MODEL_URL=… MODEL=… MODEL_KEY=… node scripts/mcp-evaluate.ts`.
 *  The URL is that of chat completions as most servers of models have them (`…/v1/chat/completions`). Prints how many it answers, with how many
 *  calls and tokens. `--only 3` asks one question, and prints its calls. `--recorded` needs no model: it makes the recorded calls of the questions
 *  and the mistakes of test/mcp/mistakes.ts, and prints how many are answered and corrected. */
import { parseArgs } from 'node:util'
import { QUESTIONS, type Question } from '../test/mcp/market/questions.ts'
import { ANOTHER, CORRECTED } from '../test/mcp/mistakes.ts'
import { openPlace } from '../test/support/engines.ts'
import { agentToken, McpClient } from '../test/support/mcp.ts'
import { startTestServer } from '../test/support/server.ts'

const MOST_ROUNDS = 12
const RULES =
  'Answer the question by the tools. End with one short line that has the exact values, with all digits, as the tool gave them.'

interface ToolCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Said {
  readonly content: string | null
  readonly tool_calls?: readonly ToolCall[]
}

interface Completion {
  readonly choices: readonly { readonly message: Said }[]
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number }
}

interface Attempt {
  readonly isRight: boolean
  readonly calls: number
  readonly bytes: number
  readonly tokens: number
}

const { values } = parseArgs({ options: { only: { type: 'string' }, recorded: { type: 'boolean' } } })
const { MODEL_URL: url, MODEL: model, MODEL_KEY: key = '' } = process.env
if (values.recorded !== true && (url === undefined || model === undefined)) {
  process.stderr.write('Set MODEL_URL and MODEL, and MODEL_KEY if the server wants one; or give --recorded.\n')
  process.exit(2)
}

const { place, leave } = await openPlace('sqlite')
const server = await startTestServer(place, { flags: { '--demo': 'true', '--limit-mcp': '' } })
try {
  const client = new McpClient(server, await agentToken(server))
  await (values.recorded === true ? repeatRecorded(client) : askModel(client))
} finally {
  await server.stop()
  await leave()
}

async function askModel(client: McpClient): Promise<void> {
  const { result } = (await client.request('tools/list')).body
  const { instructions } = (await client.request('server/discover')).body.result
  const tools = result.tools.map(({ name, description, inputSchema }: Record<string, unknown>) => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }))
  const asked = QUESTIONS.filter((_, index) => values.only === undefined || Number(values.only) === index + 1)
  const attempts: Attempt[] = []
  for (const question of asked) {
    const attempt = await tryQuestion(question, client, tools, `${instructions}\n\n${RULES}`)
    attempts.push(attempt)
    const { isRight, calls, bytes, tokens } = attempt
    process.stdout.write(
      `${isRight ? 'right' : 'wrong'} ${calls} calls ${bytes} bytes ${tokens} tokens: ${question.question}\n`,
    )
  }
  const sum = (member: 'calls' | 'bytes' | 'tokens') => attempts.reduce((total, attempt) => total + attempt[member], 0)
  const right = attempts.filter(({ isRight }) => isRight).length
  process.stdout.write(
    `${model}: ${right} of ${attempts.length} right, ${sum('calls')} calls, ${sum('bytes')} bytes, ${sum('tokens')} tokens\n`,
  )
}

async function repeatRecorded(client: McpClient): Promise<void> {
  const answered = await Promise.all(QUESTIONS.map((question) => repeat(question, client)))
  const right = answered.filter(({ isRight }) => isRight).length
  const calls = answered.map((attempt) => attempt.calls)
  const bytes = answered.map((attempt) => attempt.bytes)
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length
  process.stdout.write(
    `questions: ${right} of ${answered.length} answered; calls ${mean(calls).toFixed(1)}, at most ${Math.max(...calls)}; bytes ${Math.round(mean(bytes))}, at most ${Math.max(...bytes)}\n`,
  )
  let [meant, runs] = [0, 0]
  for (const [mistake, correction] of [...CORRECTED, ...ANOTHER.map((statement) => [statement, undefined] as const)]) {
    const { content } = await client.call('query', { statement: mistake })
    const [, kind, shown] = /\n(Corrected|This works): ([\s\S]*)$/.exec(content[0].text) ?? []
    if (kind === 'Corrected' && shown === correction) meant++
    if (shown !== undefined && (await client.call('query', { statement: shown })).isError === undefined) runs++
  }
  const all = CORRECTED.length + ANOTHER.length
  process.stdout.write(
    `mistakes: ${runs} of ${all} errors have a statement that runs, ${meant} the one that was meant\n`,
  )
}

async function repeat({ calls, answer }: Question, client: McpClient): Promise<Attempt> {
  let [text, bytes] = ['', 0]
  for (const { tool, args } of calls) {
    text = (await client.call(tool, args)).content[0].text
    bytes += Buffer.byteLength(text)
  }
  return { isRight: `${text}\n`.includes(answer), calls: calls.length, bytes, tokens: 0 }
}

async function tryQuestion(
  { question, answer }: Question,
  client: McpClient,
  tools: readonly unknown[],
  system: string,
): Promise<Attempt> {
  const messages: unknown[] = [
    { role: 'system', content: system },
    { role: 'user', content: question },
  ]
  let [calls, bytes, tokens] = [0, 0, 0]
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const { choices, usage } = await complete({ model, messages, tools })
    tokens += (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0)
    const message = choices[0]?.message
    if (message === undefined) break
    messages.push(message)
    if (message.tool_calls === undefined || message.tool_calls.length === 0)
      return { isRight: hasValues(message.content ?? '', answer), calls, bytes, tokens }
    for (const { id, function: called } of message.tool_calls) {
      const text = await call(client, called)
      if (values.only !== undefined) process.stdout.write(`${called.name} ${called.arguments}\n${text}\n\n`)
      calls++
      bytes += Buffer.byteLength(text)
      messages.push({ role: 'tool', tool_call_id: id, content: text })
    }
  }
  return { isRight: false, calls, bytes, tokens }
}

async function complete(body: object): Promise<Completion> {
  const headers = { 'content-type': 'application/json', ...(key === '' ? {} : { authorization: `Bearer ${key}` }) }
  const reply = await fetch(url ?? '', { method: 'POST', headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`The model answered ${reply.status}: ${await reply.text()}`)
  return (await reply.json()) as Completion
}

async function call(client: McpClient, { name, arguments: args }: ToolCall['function']): Promise<string> {
  let given: object
  try {
    given = JSON.parse(args === '' ? '{}' : args)
  } catch {
    return 'The arguments are not JSON'
  }
  const { result, error } = (await client.request('tools/call', { name, arguments: given })).body
  return result?.content[0].text ?? JSON.stringify(error)
}

/** Whether a text has all values of the recorded answer; numbers may have separators, and no zeros at their end. */
function hasValues(text: string, answer: string): boolean {
  const plain = text.replaceAll(/(?<=\d)[,_\s](?=\d{3})/g, '')
  return answer
    .trim()
    .split(/[,\n]/)
    .every((value) => plain.includes(/^-?\d+\.\d*$/.test(value) ? value.replace(/\.?0+$/, '') : value))
}
