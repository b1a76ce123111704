/** The page of a table: its rows, its definition, and the import of rows. */
import { href } from '../../shell/router.ts'
import { useVisit } from '../../shell/visits.ts'
import { Await, Badge, Loading, Notice, Page, type PageProps, type Tab, Tabs, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { readTable, type TableDetail } from './catalogue.ts'
import { ExportMenu } from './export.tsx'
import { Import } from './import.tsx'
import { Rows } from './rows.tsx'
import { Structure } from './structure.tsx'

export function TablePage({
  name,
  part,
  definitions,
  onDefined,
}: {
  readonly name: string
  readonly part: string
  readonly definitions: number
  readonly onDefined: () => void
}) {
  const table = useLoad((signal) => readTable(name, signal), [name, definitions])
  const parents = [{ title: 'Tables', href: href('tables') }]
  if (table.data === undefined)
    return (
      <Page title={name} parents={parents}>
        {table.error === undefined ? <Loading /> : <Await of={table}>{() => null}</Await>}
      </Page>
    )
  return <LoadedTable data={table.data} {...{ parents, part, definitions, onDefined }} />
}

function LoadedTable({
  data,
  parents,
  part,
  definitions,
  onDefined,
}: {
  readonly data: TableDetail
  readonly parents: NonNullable<PageProps['parents']>
  readonly part: string
  readonly definitions: number
  readonly onDefined: () => void
}) {
  useVisit('table', data.name, href('tables', data.name))
  const isHidden = data.missingscopes.length > 0
  const shown = isHidden || part === 'structure' ? 'structure' : part === 'import' ? part : 'rows'
  return (
    <Page
      title={data.name}
      parents={parents}
      afterTitle={<Badges table={data} />}
      actions={!isHidden && <ExportMenu table={data} />}
      bar={<Tabs label="Parts of the table" tabs={tableTabs(data, shown)} />}
      full={shown === 'rows'}
    >
      {isHidden && <HiddenRows scopes={data.missingscopes} />}
      {shown === 'structure' ? (
        <Structure table={data} onDefined={onDefined} />
      ) : shown === 'import' ? (
        <Import table={data} />
      ) : (
        <Rows key={definitions} table={data} />
      )}
    </Page>
  )
}

function HiddenRows({ scopes }: { readonly scopes: readonly string[] }) {
  return (
    <Notice kind="warning">
      {scopes.length > 1 ? 'Its rows need the scopes' : 'Its rows need the scope'}{' '}
      {scopes.map((scope, index) => (
        <>
          {index > 0 && ' and '}
          <code>{scope}</code>
        </>
      ))}
      , which you do not hold. You see the definition because you may define tables. A role can give you the scope.
    </Notice>
  )
}

function Badges({ table: { issystem, isview, ismaterialized, rights, rowfilter } }: { readonly table: TableDetail }) {
  return (
    <>
      {issystem && <Badge>system</Badge>}
      {isview && <Badge kind="accent">view</Badge>}
      {ismaterialized && <Badge kind="accent">materialized view</Badge>}
      {!rights.includes('select') && <Badge kind="warning">rows hidden</Badge>}
      {rights.includes('select') && !rights.includes('update') && !isview && !ismaterialized && (
        <Badge>read only</Badge>
      )}
      {rowfilter !== null && <Badge kind="accent">row filter</Badge>}
    </>
  )
}

function tableTabs({ name, rights, missingscopes }: TableDetail, part: string): Tab[] {
  const tab = (title: string, own: string): Tab => ({
    title,
    href: own === 'rows' ? href('tables', name) : href('tables', name, own),
    current: part === own,
  })
  return [
    ...(missingscopes.length === 0 ? [tab(word('Rows'), 'rows')] : []),
    tab(word('Structure'), 'structure'),
    ...(rights.includes('insert') ? [tab(word('Import'), 'import')] : []),
  ]
}
