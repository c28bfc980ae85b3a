import { Banner } from '@primer/react'

/** Above the button that saves what was edited, where others have changed the same. */
export function ChangedElsewhere({ onLoad }: { onLoad(): void }) {
  return (
    <div role="status">
      <Banner
        variant="warning"
        title="Changed elsewhere"
        description="These settings were changed after you began to edit them. Saving changes only what you edited. Loading the new settings discards your edits."
        primaryAction={
          <Banner.PrimaryAction type="button" onClick={onLoad}>
            Load the new settings
          </Banner.PrimaryAction>
        }
      />
    </div>
  )
}
