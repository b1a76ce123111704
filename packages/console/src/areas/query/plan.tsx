/** How the server runs a statement, how long that takes, and how it would keep its result up to date. */
import { useState } from 'preact/hooks'
import { statement as toStatement } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { Await, Button, Code, count, duration, Facts, Table, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Outcome } from './run.ts'

/** How a live result is kept up to date, by the name that the server gives it. */
export const METHODS: ReadonlyMap<string, string> = new Map([
  ['keys', 'only rows that change are read again'],
  ['rerun', 'the statement runs again when its tables change'],
  ['clock', 'the statement runs again every second'],
])

function methodText(method: string): string {
  const text = METHODS.get(method)
  return text === undefined ? method : `Yes, by ${method}: ${text}`
}

/** Names of columns. */
function keyText(key: unknown): string {
  return Array.isArray(key) ? key.join(', ') : JSON.stringify(key)
}

interface ShownPlan {
  readonly lines: string
  /** Of the engine's own plan, where it measures them. */
  readonly steps: readonly Step[]
  readonly live: Readonly<Record<string, unknown>> | undefined
}

interface Step {
  readonly name: string
  readonly depth: number
  readonly rows: number
  readonly milliseconds: number
}

const STEP = /^( +)(.+): (\d+) rows?, ([\d.]+) ms$/

function readStep(line: string): Step | undefined {
  const [, indent = '', name = '', rows, milliseconds] = STEP.exec(line) ?? []
  return rows === undefined
    ? undefined
    : { name, depth: indent.length / 2 - 1, rows: Number(rows), milliseconds: Number(milliseconds) }
}

/** A statement that took longer runs again only when its user asks. */
const SHORT_MS = 1000

export function Plan({ outcome }: { readonly outcome: Outcome }) {
  const { text, parameters, state } = outcome
  const [isMeasured, setMeasured] = useState(state.value.kind === 'done' && state.value.milliseconds < SHORT_MS)
  const plan = useLoad(
    async (signal): Promise<ShownPlan> => {
      const statement = (prefix: string) =>
        gate.query(toStatement(`${prefix} ${text}`, parameters as Readonly<Record<string, string>>), { signal })
      const [rows, live] = await Promise.all([
        statement(isMeasured ? 'explain analyze' : 'explain').rows(),
        statement('explain live').first(),
      ])
      const lines = rows.map((row) => String(Object.values(row)[0]))
      const steps = lines.flatMap((line) => readStep(line) ?? [])
      return { lines: lines.slice(0, lines.length - steps.length).join('\n'), steps, live }
    },
    [text, JSON.stringify(parameters), isMeasured],
  )
  return (
    <div class="query-plan">
      <Await of={plan} title="There is no plan">
        {({ lines, steps, live }) => (
          <>
            <Code label="Plan" text={lines} />
            {steps.length > 0 && <Steps steps={steps} />}
            {!isMeasured && (
              <p>
                <Button size="small" icon="clock" onClick={() => setMeasured(true)}>
                  Run it and measure
                </Button>
              </p>
            )}
            {live !== undefined && (
              <Facts
                of={[
                  [word('Live'), methodText(String(live.method))],
                  [
                    'Rows are identified by',
                    live.key === null ? word('nothing') : <code key="key">{keyText(live.key)}</code>,
                  ],
                  [word('Why'), String(live.reason)],
                ]}
              />
            )}
          </>
        )}
      </Await>
    </div>
  )
}

/** A step includes those that are below it. */
function Steps({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <Table
      label="Steps of the database"
      rows={steps.map((step, index) => ({ ...step, index }))}
      rowKey={({ index }) => index}
      columns={[
        { title: 'Step', cell: ({ depth, name }) => `${'\u2003'.repeat(depth)}${name}` },
        { title: 'Rows', cell: ({ rows }) => count(rows), kind: 'number' },
        { title: 'Time', cell: ({ milliseconds }) => duration(milliseconds), kind: 'number' },
      ]}
    />
  )
}
