/** The area Tables: the tree of tables, and the one that is open. */
import { signal } from '@preact/signals'
import { may } from '../../gate.ts'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { ButtonLink, Empty, Page } from '../../ui/index.ts'
import { CreateTable } from './create.tsx'
import { TablePage } from './table.tsx'
import { Tree } from './tree.tsx'
import './tables.css'

/** Rises when tables were created, altered or dropped here, so that the tree reads them again. */
const definitions = signal(0)

export default function Tables({ path, query }: AreaProps) {
  const [name, part = 'rows'] = path
  const mayCreate = may('Platform/Admin')
  const isNew = name === undefined && query.has('new')
  useCommands(
    () =>
      mayCreate
        ? [
            {
              id: 'tables.create',
              title: 'Create a table',
              group: 'Tables',
              icon: 'plus',
              act: () => go(href('tables', { new: '' })),
            },
          ]
        : [],
    [mayCreate],
  )
  const onDefined = () => {
    definitions.value++
  }
  return (
    <div class={name === undefined && !isNew ? 'tables' : 'tables open'}>
      <Tree current={name} definitions={definitions.value} mayCreate={mayCreate} />
      <div class="tables-main">
        {name !== undefined ? (
          <TablePage key={name} name={name} part={part} definitions={definitions.value} onDefined={onDefined} />
        ) : isNew ? (
          <CreateTable onDefined={onDefined} />
        ) : (
          <Page title="Tables">
            <Empty
              icon="table"
              title="Choose a table"
              actions={
                mayCreate && (
                  <ButtonLink href={href('tables', { new: '' })} icon="plus">
                    Create a table
                  </ButtonLink>
                )
              }
            >
              {mayCreate
                ? 'The list shows all tables. You can change the definition of tables with a lock, but not read them.'
                : 'The list shows the tables that your rights let you read. To create tables, you need the right Platform/Admin.'}
            </Empty>
          </Page>
        )}
      </div>
    </div>
  )
}
