/** The report of a month: who used which product, from the audit log alone. */
import { AccessBadge, kindText, statusText } from '../../admin/licences.tsx'
import { read, withQuery } from '../../admin/requests.ts'
import { confirmAndAttempt } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { go, href } from '../../shell/router.ts'
import { toastError } from '../../shell/toasts.tsx'
import { Await, Button, count, Empty, Field, Page, saveFile, Table, Time, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { MarketDataTabs } from './tabs.tsx'
import type { Usage, UsageRow } from './types.ts'

export function Report({ query }: { readonly query: URLSearchParams }) {
  const month = query.get('month') ?? new Date().toISOString().slice(0, 'YYYY-MM'.length)
  const usage = useLoad<Usage>((signal) => read(withQuery('/admin/usage', { month }), signal), [month])
  return (
    <Page
      title="Market data"
      bar={<MarketDataTabs current="report" />}
      actions={
        <>
          <Button icon="download" onClick={() => void download(month)}>
            CSV
          </Button>
          <Button onClick={() => void close(month)}>Close the month</Button>
        </>
      }
    >
      <div class="market-data-search">
        <Field label="Month" hint="In UTC.">
          {(ids) => (
            <input
              {...ids}
              type="month"
              value={month}
              onChange={(event) => go(href('market-data', 'report', { month: event.currentTarget.value }))}
            />
          )}
        </Field>
      </div>
      <Await of={usage} title="The report could not be made">
        {({ rows, names, head }) => (
          <>
            {rows.length === 0 ? (
              <Empty icon="chart" title="Nobody used a product">
                Each use is in the audit log before its first value.
              </Empty>
            ) : (
              <UsageTable rows={rows} names={names} />
            )}
            <p class="quiet">
              {word(`Up to row ${count(head.seq)} of the audit log.`)} <Time at={head.at} />
            </p>
          </>
        )}
      </Await>
    </Page>
  )
}

function UsageTable({ rows, names }: Pick<Usage, 'rows' | 'names'>) {
  return (
    <Table
      label="Usage"
      rows={rows}
      rowKey={({ product, subject }) => `${product} ${subject}`}
      columns={[
        { title: 'Product', cell: ({ product }) => product },
        { title: 'Who', cell: ({ subject }: UsageRow) => names[subject] ?? subject },
        { title: 'Firm', wide: true, cell: ({ firm }) => firm },
        { title: 'Access', cell: ({ access }) => <AccessBadge of={access} /> },
        { title: 'Status', wide: true, cell: ({ status }) => statusText(status) },
        { title: 'Counted as', wide: true, cell: ({ kind }) => kindText(kind) },
        { title: 'Sessions', kind: 'number', wide: true, cell: ({ sessions }) => count(sessions) },
        { title: 'Most places', kind: 'number', wide: true, cell: ({ peak }) => count(peak) },
        { title: 'Units', kind: 'number', cell: ({ units }) => count(units) },
      ]}
    />
  )
}

async function download(month: string): Promise<void> {
  try {
    const response = await gate.request(withQuery('/admin/usage', { month, format: 'csv' }))
    await saveFile(await response.blob(), `usage-${month}.csv`)
  } catch (error) {
    toastError(error)
  }
}

async function close(month: string): Promise<void> {
  await confirmAndAttempt(
    {
      title: `Close ${month}?`,
      text: 'The SHA-256 of the report as CSV is recorded in the audit log, so that a later one can be compared.',
      action: 'Close the month',
    },
    () => gate.request(`/admin/usage/${encodeURIComponent(month)}/close`, { method: 'POST' }),
    word(`The report of ${month} is recorded`),
  )
}
