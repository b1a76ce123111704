/** Who can read and write a table, which rows each caller sees, and how they must have signed in. */
import { usePlatformScopes } from '../../admin/platform-scopes.ts'
import { may } from '../../gate.ts'
import { Notice, Select, SignInDemandFields, TextField } from '../../ui/index.ts'
import { FilterField } from './filter-field.tsx'
import type { TableDraft } from './statements.ts'

type RightsDraft = Pick<
  TableDraft,
  'readScope' | 'writeScope' | 'rowFilter' | 'readDemand' | 'writeDemand' | 'description'
>

export function RightsFields({
  draft,
  columns,
  onChange,
}: {
  readonly draft: RightsDraft
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly onChange: (part: Partial<RightsDraft>) => void
}) {
  const scopes = usePlatformScopes(draft.readScope, draft.writeScope)
  const isDemanding = [draft.readDemand, draft.writeDemand].some(({ acr, age }) => acr !== '' || age !== '')
  return (
    <div class="form">
      <Select
        label="Who can read"
        value={draft.readScope}
        onValue={(readScope) => onChange({ readScope })}
        choices={[{ value: '', title: 'Everyone with any right of the platform' }, ...scopes]}
      />
      {draft.readScope !== '' && !may(draft.readScope) && (
        <Notice kind="warning">
          You do not hold <code>{draft.readScope}</code>: you can define this table, but you will not see its rows.
        </Notice>
      )}
      <Select
        label="Who can write"
        value={draft.writeScope}
        onValue={(writeScope) => onChange({ writeScope })}
        choices={[{ value: '', title: 'Administrators of the platform only' }, ...scopes]}
      />
      <FilterField value={draft.rowFilter} columns={columns} onValue={(rowFilter) => onChange({ rowFilter })} />
      <details class="sign-in-fields" open={isDemanding || undefined}>
        <summary>Sign-in</summary>
        <div class="form">
          <SignInDemandFields
            label="Sign-in for reading"
            demand={draft.readDemand}
            onDemand={(readDemand) => onChange({ readDemand })}
          />
          <SignInDemandFields
            label="Sign-in for writing"
            demand={draft.writeDemand}
            onDemand={(writeDemand) => onChange({ writeDemand })}
          />
        </div>
      </details>
      <TextField label="Comment" value={draft.description} onValue={(description) => onChange({ description })} />
    </div>
  )
}
