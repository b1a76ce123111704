/** How the server would run a statement, and how it would keep its result up to date. */
import { statement as statementOf } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { Await, Code, Facts, useLoad } from '../../ui/index.ts'
import type { Outcome } from './run.ts'

interface PlanOf {
  readonly lines: string
  readonly live: Readonly<Record<string, unknown>> | undefined
}

export function Plan({ outcome: { text, parameters } }: { readonly outcome: Outcome }) {
  const plan = useLoad(
    async (signal): Promise<PlanOf> => {
      const statement = (prefix: string) =>
        gate.query(statementOf(`${prefix} ${text}`, parameters as Readonly<Record<string, string>>), { signal })
      const [rows, live] = await Promise.all([statement('explain').rows(), statement('explain live').first()])
      return { lines: rows.map((row) => Object.values(row).join('  ')).join('\n'), live }
    },
    [text, JSON.stringify(parameters)],
  )
  return (
    <div class="query-plan">
      <Await of={plan} title="There is no plan">
        {({ lines, live }) => (
          <>
            <Code label="Plan" text={lines} />
            {live !== undefined && (
              <Facts
                of={[
                  ['Live', <code key="method">{String(live.method)}</code>],
                  ['Key', live.key === null ? 'none' : <code key="key">{JSON.stringify(live.key)}</code>],
                  ['Reason', String(live.reason)],
                ]}
              />
            )}
          </>
        )}
      </Await>
    </div>
  )
}
