/** Declaring a feed. */
import { gate, may } from '../../../gate.ts'
import { go, href } from '../../../shell/router.ts'
import { toast } from '../../../shell/toasts.tsx'
import { Forbidden, Page } from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'
import { DefinitionForm } from './definition-form.tsx'
import { buildDefinition, EMPTY_DRAFT } from './draft.ts'

const PARENTS = [{ title: 'Feeds', href: href('streams', 'feeds') }]

export function NewFeed() {
  if (!may('Platform/Admin'))
    return (
      <Page title="Declare a feed" parents={PARENTS}>
        <Forbidden rights={['Platform/Admin']} />
      </Page>
    )
  return (
    <Page title="Declare a feed" parents={PARENTS}>
      <DefinitionForm
        draft={EMPTY_DRAFT}
        isNew
        action="Declare"
        failure="The feed was not declared"
        onSubmit={async (draft) => {
          const name = draft.name.trim()
          await gate.request('/admin/feeds', { method: 'POST', body: buildDefinition(draft) })
          toast(word(`${name} is declared`))
          go(href('streams', 'feeds', name))
        }}
        onCancel={() => go(href('streams', 'feeds'))}
      />
    </Page>
  )
}
