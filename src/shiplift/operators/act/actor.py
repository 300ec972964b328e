"""Takes steps: one write each, as ourselves on our own objects, as the AppType's account on all others.
Nothing is decided here."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from shiplift.api.marks import MANAGED_BY, MANAGER
from shiplift.api.operators import CrdRule, RuleAction
from shiplift.engine.denials import is_denial
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import APP_TYPE, CUSTOM_RESOURCE_DEFINITION, OPERATOR_CATALOG, OPERATOR_VERSION
from shiplift.kube.api_servers import ApiServers
from shiplift.kube.changing import Subject, change
from shiplift.kube.client import Client, Propagation
from shiplift.kube.errors import (
    AlreadyExists,
    ApiError,
    Forbidden,
    KubeError,
    NotFound,
    PreconditionFailed,
    ServerError,
    Throttled,
)
from shiplift.kube.finalizers import finalizer_edit
from shiplift.kube.outcomes import SOON, done, gone, refusal, uid_of, version_of
from shiplift.operators import steps
from shiplift.operators.act import hooks, objects, versions
from shiplift.operators.crds import existing, rules
from shiplift.operators.crds.definition import DefinitionError, content_of, read, storage_of
from shiplift.operators.crds.existing import ExistingError
from shiplift.operators.crds.storing import StoringError, store_anew
from shiplift.operators.model import MOST_GRAVES, Checked, Unasked
from shiplift.operators.names import BUNDLE, CONTENT, FINALIZER, REQUIRED
from shiplift.operators.observe.checks import COUNTS, COUNTS_CLEAR, Checks
from shiplift.operators.observe.pieces import as_account, forbidden
from shiplift.operators.observe.shelf import NoPayloadError, Shelf

Json = dict[str, Any]
_MOST_SECONDS = 60.0
"""For all objects of one definition. Whoever has more of them checks with `shiplift catalog crds`, and allows
`ExistingObjects` in the AppType."""

_EVERYDAY = (AlreadyExists, ServerError, Throttled)


class Actor:
    """Takes the steps of this layer; `mark` is of this term of leading."""

    def __init__(self, client: Client, shelf: Shelf, checks: Checks, mark: str) -> None:
        self._client, self._shelf, self._checks, self._mark = client, shelf, checks, mark
        self._servers = ApiServers(client)

    def act(self, step: Step) -> Outcome:
        """One step, and what came of it."""
        try:
            return self._as_account(step) if isinstance(step, steps.Account) else self._as_ourselves(step)
        except KubeError as error:
            return refusal(step, error)
        except NoPayloadError as error:
            return Outcome.failed(step, str(error))

    def _as_ourselves(self, step: Step) -> Outcome:
        match step:
            case steps.ReadCatalog():
                self._shelf.want(step.name)
                return Outcome.done(step)
            case steps.SetFinalizer():
                subject = Subject(step.kind, step.name, step.namespace, step.uid, step.kind.kind)
                return change(
                    self._client,
                    step,
                    subject,
                    lambda live: finalizer_edit(live, FINALIZER, present=step.present),
                )
            case (
                steps.MakeVersion() | steps.Begin() | steps.HookDone() | steps.NoteKinds() | steps.NoteOrder()
            ):
                return versions.take(self._client, self._shelf, step)
            case steps.DeleteVersion():
                return self._delete(step)
            case steps.MakeAppType():
                return self._make_app_type(step)
            case steps.Bury():
                return self._bury(step)
            case _:
                raise TypeError(f"{type(step).__name__} is no step of this layer")

    def _as_account(self, step: steps.Account) -> Outcome:
        client = as_account(self._client, step.namespace, step.account)
        try:
            match step:
                case steps.MakeCrd():
                    return self._make_crd(client, step)
                case steps.CheckCrd() | steps.TryOut():
                    return (
                        self._check(client, step)
                        if isinstance(step, steps.CheckCrd)
                        else self._try(client, step)
                    )
                case steps.StoreAnew():
                    return self._store_anew(client, step)
                case steps.RunHook():
                    return hooks.run(client, step)
                case _:
                    return objects.take(client, step)
        except Forbidden as error:
            return Outcome.failed(step, forbidden(error, step.namespace, step.account).message)

    def _delete(self, step: steps.DeleteVersion) -> Outcome:
        try:
            written = self._client.delete(
                OPERATOR_VERSION,
                step.name,
                step.namespace,
                uid=step.uid,
                resource_version=step.version,
                propagation=Propagation.ORPHAN,
            )
        except (NotFound, PreconditionFailed) as error:
            return gone(step, error)
        return done(step, written)

    def _make_app_type(self, step: steps.MakeAppType) -> Outcome:
        body = {
            "metadata": {"name": step.name, "labels": {MANAGED_BY: MANAGER}},
            "spec": {
                "package": step.package,
                "catalog": step.catalog,
                "serviceAccountName": step.account,
            },
        }
        try:
            made = self._client.create(APP_TYPE, body, step.namespace)
        except ApiError as error:
            if is_denial(error.message) or not isinstance(error, _EVERYDAY):
                why = f"{step.describe()}: {error}"
                self._checks.unasked.note(step.namespace, step.crd, "", Unasked(why))
            raise
        self._checks.unasked.note(step.namespace, step.crd, "", Unasked())
        return done(step, made)

    def _bury(self, step: steps.Bury) -> Outcome:
        live = self._client.get(OPERATOR_CATALOG, step.catalog)
        if uid_of(live) != step.uid:
            return Outcome.done(step, message="another OperatorCatalog has its name now")
        status: Json = live.get("status") or {}
        known: list[Json] = status.get("tombstones") or []
        kept = [one for one in known if (one["namespace"], one["package"]) != (step.namespace, step.package)]
        at = datetime.fromisoformat(step.at).strftime("%Y-%m-%dT%H:%M:%SZ")
        grave = {"namespace": step.namespace, "package": step.package, "deletionTime": at}
        written = self._client.patch(
            OPERATOR_CATALOG,
            step.catalog,
            {"status": {"tombstones": [*kept, grave][-MOST_GRAVES:]}},
            uid=step.uid,
            resource_version=version_of(live),
            subresource="status",
        )
        return done(step, written)

    def _make_crd(self, client: Client, step: steps.MakeCrd) -> Outcome:
        manifests = self._shelf.manifests(step.payload)
        found = [one for one in manifests if _defines(one, step.crd)]
        if not found:
            return Outcome.failed(step, f"{step.bundle} does not bring {step.crd}, though it owns it")
        manifest = found[0]
        if step.sha256 and content_of(manifest) != step.sha256:
            return Outcome.failed(
                step, f"{step.crd} of {step.bundle} is not the one with sha256 {step.sha256}"
            )
        if manifest.get("apiVersion") != CUSTOM_RESOURCE_DEFINITION.api_version:
            return Outcome.failed(step, f"{step.crd} is of {manifest.get('apiVersion')}, which is not served")
        given: Json = manifest["metadata"]
        labels: Json = given.get("labels") or {}
        notes: Json = given.get("annotations") or {}
        meta: Json = {
            "name": step.crd,
            "labels": {**labels, REQUIRED: "true"},
            "annotations": {**notes, BUNDLE: step.bundle, CONTENT: content_of(manifest)},
        }
        body = {"metadata": meta, "spec": manifest["spec"]}
        tried = client.create(CUSTOM_RESOURCE_DEFINITION, body, dry_run=True)
        return done(step, client.create(CUSTOM_RESOURCE_DEFINITION, objects.noting_stored(body, tried)))

    def _try(self, client: Client, step: steps.TryOut) -> Outcome:
        tried = objects.tried(client, step.puts, step.rights)
        self._checks.trials.note(step.namespace, step.uid, step.token, tried)
        return Outcome.done(step, message=f"{len(tried.refused)} would be refused")

    def _check(self, client: Client, step: steps.CheckCrd) -> Outcome:
        actions = rules.usual({CrdRule(rule): RuleAction(action) for rule, action in step.actions.items()})
        try:
            live = client.get(CUSTOM_RESOURCE_DEFINITION, step.crd)
            found = rules.findings(read(live), read(step.manifest), actions)
            action = actions[CrdRule.EXISTING_OBJECTS]
            asked = action is not RuleAction.ALLOW
            seen = existing.check(client, step.manifest, self._mark, _MOST_SECONDS) if asked else None
            if seen is not None:
                found += existing.findings(step.crd, seen, action)
        except (DefinitionError, ExistingError) as error:
            self._checks.definitions.note(step.namespace, step.crd, step.token, Checked(trouble=str(error)))
            return Outcome.failed(step, str(error))
        checked = Checked(tuple(found))
        counts = COUNTS if checked.denied else COUNTS_CLEAR
        self._checks.definitions.note(step.namespace, step.crd, step.token, checked, counts)
        return Outcome.done(step, message=f"{len(found)} findings")

    def _store_anew(self, client: Client, step: steps.StoreAnew) -> Outcome:
        live = client.get(CUSTOM_RESOURCE_DEFINITION, step.crd)
        if uid_of(live) != step.uid or storage_of(live) != step.storage:
            return Outcome.refused(step, f"{step.crd} has changed", SOON)
        try:
            count = store_anew(client, live, time.monotonic() + _MOST_SECONDS, self._servers.each)
        except StoringError as error:
            return Outcome.failed(step, f"{step.crd}: {error}")
        return Outcome.done(step, message=f"{count:,} objects were stored anew")


def _defines(manifest: Json, crd: str) -> bool:
    about: Json = manifest.get("metadata") or {}
    return manifest.get("kind") == CUSTOM_RESOURCE_DEFINITION.kind and about.get("name") == crd
