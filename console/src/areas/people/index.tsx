/** The area People. */
import type { AreaProps } from '../../shell/area.ts'
import { Page } from '../../ui/index.ts'

export default function People(_: AreaProps) {
  return <Page title="People">{null}</Page>
}
