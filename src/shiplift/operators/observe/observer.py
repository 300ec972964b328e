"""Gathers what each loop decides from: our own objects from the store, what is installed live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from shiplift.engine.layer import Retry
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.cluster import CustomResourceDefinition, Namespace
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.workloads import Deployment
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden, KubeError
from shiplift.kube.kept import Kept
from shiplift.kube.store import Snapshot, Store
from shiplift.operators.catalog.installation import NotInstallableError
from shiplift.operators.catalog.model import Bundle
from shiplift.operators.decide import hooking, lineage
from shiplift.operators.decide.definitions import check_token
from shiplift.operators.decide.former import former, names_of
from shiplift.operators.decide.install import trial_token
from shiplift.operators.model import (
    About,
    AppView,
    Checked,
    CrdView,
    InstallView,
    Job,
    Key,
    Loop,
    Needed,
    NothingView,
    Owned,
    OwnedView,
    Piece,
    Provider,
    Reason,
    RequirementView,
    Site,
    SourceView,
    Trouble,
    UsherView,
    View,
)
from shiplift.operators.names import REQUIRED
from shiplift.operators.observe import pieces
from shiplift.operators.observe.checks import Checks
from shiplift.operators.observe.pieces import TroubledError
from shiplift.operators.observe.shelf import NoPayloadError, Shelf, label_selector
from shiplift.operators.rows import (
    app_of,
    catalog_status_of,
    holds,
    is_untouched,
    owner_of,
    turn_of,
    version_of,
)

T = TypeVar("T")
_Place = tuple[str, str, str]
"""Kind, namespace and name of an object."""
READS = (
    kinds.APP_TYPE,
    kinds.OPERATOR_VERSION,
    kinds.OPERATOR_CATALOG,
    kinds.UPGRADE_CONFIG,
    kinds.DEPLOYMENT,
    kinds.CUSTOM_RESOURCE_DEFINITION,
    kinds.NAMESPACE,
)
OF_APP_TYPE = (Loop.APP_TYPE, Loop.CATALOG)
OF_VERSION = (Loop.REQUIREMENT, Loop.INSTALL, Loop.UPGRADE, Loop.COLLECT)


class Observer:
    """Makes views; from one thread."""

    def __init__(
        self, store: Store, client: Client, shelf: Shelf, checks: Checks, version: Callable[[], str]
    ) -> None:
        self._store, self._client, self._shelf, self._checks = store, client, shelf, checks
        self._version, self._known_version = Kept(version, 30.0), ""

    def observe(self, key: Key, outcomes: Outcomes) -> View:
        snapshot = self._store.snapshot(*READS)
        look = {
            Loop.USHER: partial(_usher, snapshot, key),
            Loop.SOURCE: partial(self._source, snapshot, key, outcomes),
            Loop.APP_TYPE: partial(self._app_type, snapshot, key, outcomes),
            Loop.CATALOG: partial(self._app_type, snapshot, key, outcomes),
            Loop.REQUIREMENT: partial(self._requirement, snapshot, key, outcomes),
            Loop.CRD: partial(self._crd, snapshot, key, outcomes),
            Loop.INSTALL: partial(self._install, snapshot, key, outcomes),
            Loop.UPGRADE: partial(self._owned, snapshot, key, outcomes),
            Loop.COLLECT: partial(self._owned, snapshot, key, outcomes),
        }[key.loop]
        try:
            return look()
        except KubeError as error:
            raise Retry(f"{key} cannot be looked at: {error}") from error

    def _kubernetes(self) -> str:
        """As the API server said last: that it does not answer for a moment unmakes nothing."""
        self._known_version = self._version.get() or self._known_version
        return self._known_version

    def _source(self, snapshot: Snapshot, key: Key, outcomes: Outcomes) -> View:
        row = snapshot.custom(kinds.OPERATOR_CATALOG, key.name)
        if row is None:
            return NothingView()
        reading = self._shelf.reading(row)
        staying = [one for one in snapshot.customs(kinds.APP_TYPE) if not one.deleting]
        others = [one for one in snapshot.customs(kinds.OPERATOR_CATALOG) if one.uid != row.uid]
        return SourceView(
            row=row,
            reading=reading,
            app_types=_packages(staying),
            buried=tuple(grave for one in others for grave in catalog_status_of(one).tombstones),
            outcomes=outcomes,
        )

    def _app_type(self, snapshot: Snapshot, key: Key, outcomes: Outcomes) -> View:
        row = snapshot.custom(kinds.APP_TYPE, key.name, key.namespace)
        if row is None:
            return NothingView()
        return AppView(
            site=site_of(snapshot, key.namespace, key.name),
            held=self._shelf.held(),
            taken=_taken(snapshot, key.namespace, key.name),
            kubernetes=self._kubernetes(),
            turn=turn(snapshot),
            catalogs=tuple(snapshot.customs(kinds.OPERATOR_CATALOG)),
            reading=self._shelf.is_reading(snapshot.customs(kinds.OPERATOR_CATALOG)),
            outcomes=outcomes,
        )

    def _requirement(self, snapshot: Snapshot, key: Key, outcomes: Outcomes) -> View:
        row = snapshot.custom(kinds.OPERATOR_VERSION, key.name, key.namespace)
        if row is None:
            return NothingView()
        rows = _crds(snapshot, [one.name for one in version_of(row).spec.required_crds])
        missing = [one for one in version_of(row).spec.required_crds if one.name not in rows]
        providers = {one.name: self._providers(one.name, one.kind, one.version) for one in missing}
        site = site_of(snapshot, key.namespace, version_of(row).spec.app_type)
        asked = ((name, self._checks.unasked.of(row.namespace, name, "")) for name in rows)
        return RequirementView(
            site=site,
            version=row,
            crds=rows,
            providers=providers,
            unasked={name: said for name, said in asked if said is not None},
            outcomes=outcomes,
        )

    def _providers(self, crd: str, kind: str, version: str) -> tuple[Provider, ...]:
        return self._shelf.providers(crd.partition(".")[2], kind, version)

    def _crd(self, snapshot: Snapshot, key: Key, outcomes: Outcomes) -> View:
        row = snapshot.find(CustomResourceDefinition, key.name)
        if row is None or row.labels.get(REQUIRED) != "true":
            return NothingView()
        needed, providers = dict[tuple[str, str], Site](), dict[str, Provider]()
        for one in snapshot.customs(kinds.OPERATOR_VERSION):
            for each in version_of(one).spec.required_crds:
                if each.name == key.name and not one.deleting:
                    app = version_of(one).spec.app_type
                    needed[one.namespace, app] = site_of(snapshot, one.namespace, app)
                    found = self._providers(each.name, each.kind, each.version)
                    providers |= {provider.package: provider for provider in found}
        graves = [
            (grave.namespace, grave.package)
            for catalog in snapshot.customs(kinds.OPERATOR_CATALOG)
            for grave in catalog_status_of(catalog).tombstones
        ]
        return CrdView(
            name=key.name,
            row=row,
            needed_by=tuple(needed.values()),
            providers=tuple(providers.values()),
            app_types=_packages(snapshot.customs(kinds.APP_TYPE)),
            names=frozenset((one.namespace, one.name) for one in snapshot.customs(kinds.APP_TYPE)),
            buried=frozenset(graves) | pieces.uninstalled(row.annotations),
            outcomes=outcomes,
        )

    # --- versions ---

    def _install(self, snapshot: Snapshot, key: Key, outcomes: Outcomes) -> View:
        row = snapshot.custom(kinds.OPERATOR_VERSION, key.name, key.namespace)
        if row is None:
            return NothingView()
        site = site_of(snapshot, key.namespace, version_of(row).spec.app_type)
        found, job, trouble = self._looked_at(site, row)
        ending, unseen, unknown = self._of_former(snapshot, site, row)
        required = [one.name for one in version_of(row).spec.required_crds]
        return InstallView(
            site=site,
            version=row,
            bundle=self._bundle(row),
            pieces=found,
            trouble=trouble or unknown,
            ending=ending,
            unseen=unseen,
            kubernetes=self._kubernetes(),
            deployments={one.name: one for one in snapshot.all(Deployment) if one.namespace == row.namespace},
            crds=_crds(snapshot, required),
            altered=frozenset(self._altered(row)),
            packages=_running(snapshot),
            alive=frozenset(one.uid for one in snapshot.customs(kinds.OPERATOR_VERSION)),
            checked=dict(self._checked(site, found)),
            needed=_needed(snapshot, row),
            inherits=_inherits(site, row),
            job=job,
            tried=self._checks.trials.of(row.namespace, row.uid, trial_token(found, site.app)),
            outcomes=outcomes,
        )

    def _checked(self, site: Site, found: Iterable[Piece]) -> Iterator[tuple[str, Checked]]:
        for one in found:
            if one.kind == kinds.CUSTOM_RESOURCE_DEFINITION and one.live is not None:
                said = self._checks.definitions.of(_space(site), one.name, check_token(one, site.app))
                if said is not None:
                    yield one.name, said

    def _altered(self, row: Custom) -> Iterator[str]:
        """Of the definitions whose content is pinned; what they say is in no row."""
        for one in version_of(row).spec.required_crds:
            live = pieces.definition(self._client, one.name) if one.sha256 else None
            if live is not None and pieces.is_altered(live, one.sha256 or ""):
                yield one.name

    def _bundle(self, row: Custom) -> Bundle | None:
        return self._shelf.bundle("", version_of(row).spec.package, row.name)

    def _looked_at(self, site: Site, row: Custom) -> tuple[tuple[Piece, ...], Job | None, Trouble | None]:
        """What it is made of, and the Job that comes before; not where nothing would be done about it."""
        app = site.app
        following = lineage.heir(site, row)
        replaced = following is not None and not is_untouched(following)
        if row.deleting or app is None or site.going or replaced:
            return (), None, None
        try:
            account = app_of(app).spec.service_account_name
            client = pieces.as_account(self._client, row.namespace, account)
            manifests = self._wanted(app, row)
            hook = hooking.due(row, lineage.predecessors(site, row))
            name = hooking.job_name(row, hook) if hook is not None else ""
            job = self._as_account(row, account, lambda: pieces.job(client, row.namespace, name))
            return self._as_account(row, account, lambda: pieces.pieces(client, manifests)), job, None
        except TroubledError as error:
            return (), None, error.trouble

    def _of_former(
        self, snapshot: Snapshot, site: Site, row: Custom
    ) -> tuple[frozenset[str], Mapping[str, str], Trouble | None]:
        """Of the Deployments that this version ends: those of which pods are still there; and those that are
        there themselves, which the store does not show yet."""
        before = lineage.predecessors(site, row)
        if site.app is None or site.going or row.deleting or not before:
            return frozenset(), {}, None
        account = app_of(site.app).spec.service_account_name
        client = pieces.as_account(self._client, row.namespace, account)
        here = [one for one in snapshot.all(Deployment) if one.namespace == row.namespace]
        try:
            ending = self._as_account(row, account, lambda: _ending(client, before, here))
            unseen = self._as_account(row, account, lambda: _unseen(client, before, here))
        except TroubledError as error:
            return frozenset(), {}, error.trouble
        return ending, unseen, None

    def _wanted(self, app: Custom, row: Custom) -> list[pieces.Json]:
        spec = version_of(row).spec
        bundle = self._bundle(row) or Bundle(name=row.name, version=spec.version)
        try:
            if spec.bundle is None:
                raise NoPayloadError("it names no manifests of a catalog")
            return pieces.wanted(bundle, self._shelf.manifests(spec.bundle), row.namespace, app_of(app).spec)
        except NoPayloadError as error:
            raise TroubledError(Trouble(Reason.NO_PAYLOAD, str(error))) from None
        except NotInstallableError as error:
            raise TroubledError(Trouble(Reason.NOT_INSTALLABLE, str(error))) from None

    def _as_account(self, row: Custom, account: str, look: Callable[[], T]) -> T:
        try:
            return look()
        except Forbidden as error:
            raise TroubledError(pieces.forbidden(error, row.namespace, account)) from None

    def _owned(self, snapshot: Snapshot, key: Key, outcomes: Outcomes) -> View:
        row = snapshot.custom(kinds.OPERATOR_VERSION, key.name, key.namespace)
        if row is None:
            return NothingView()
        site = site_of(snapshot, key.namespace, version_of(row).spec.app_type)
        view = OwnedView(site=site, version=row, outcomes=outcomes)
        others = lineage.predecessors(site, row) if key.loop is Loop.UPGRADE else _heirs(site, row)
        if not _matters(key.loop, site, row, others):
            return view
        try:
            owned = self._owned_by(site, row, others)
            mine = owned.get(row.uid, ())
            brings = self._brings(site, row, mine) if key.loop is Loop.UPGRADE else frozenset[_Place]()
        except TroubledError as error:
            return OwnedView(site=site, version=row, trouble=error.trouble, outcomes=outcomes)
        known = pieces.kinds_of(row.annotations)
        return OwnedView(site=site, version=row, owned=owned, brings=brings, kinds=known, outcomes=outcomes)

    def _owned_by(self, site: Site, row: Custom, others: tuple[Custom, ...]) -> dict[str, tuple[Owned, ...]]:
        if site.app is None:
            return {}
        account = app_of(site.app).spec.service_account_name
        client = pieces.as_account(self._client, row.namespace, account)
        every = (row, *others)
        of = sorted(frozenset[Kind]().union(*(pieces.kinds_of(one.annotations) for one in every)))
        owners = {owner_of(one): names_of(one) for one in every}
        return self._as_account(row, account, lambda: pieces.owned(client, of, owners))

    def _brings(self, site: Site, row: Custom, mine: Iterable[Owned]) -> frozenset[_Place]:
        """What its manifests say; of one that runs, and whose manifests nobody has any more, what says that
        it came with it: all of them were put, or it would not run."""
        try:
            wanted = self._wanted(site.app, row) if site.app is not None else []
        except TroubledError as error:
            if error.trouble.reason is not Reason.NO_PAYLOAD:
                raise
            return frozenset(_place(one.kind.kind, one.meta) for one in mine if one.bundle == row.name)
        return frozenset(_place(one["kind"], one["metadata"]) for one in wanted)


def _ending(client: Client, before: Iterable[Custom], here: Iterable[Deployment]) -> frozenset[str]:
    stopped = [one.row for one in former(before, here) if not one.row.replicas]
    return frozenset(
        one.name
        for one in stopped
        if one.selector is not None
        and pieces.has_pods(client, one.namespace, one.name, label_selector(one.selector))
    )


def _unseen(client: Client, before: Iterable[Custom], here: Iterable[Deployment]) -> dict[str, str]:
    """By name of a Deployment, the version that it is of."""
    shown = {one.name for one in here}
    named = ((one, each.name) for one in before for each in version_of(one).spec.install_strategy.deployments)
    return {
        name: one.name
        for one, name in named
        if name not in shown and any(pieces.unmarked_or_of(client, owner_of(one), name))
    }


def _place(kind: str, meta: pieces.Json) -> _Place:
    return (kind, meta.get("namespace", ""), meta["name"])


def _inherits(site: Site, row: Custom) -> frozenset[Kind]:
    before = lineage.predecessors(site, row)
    return frozenset[Kind]().union(*(pieces.kinds_of(one.annotations) for one in before))


def _space(site: Site) -> str:
    return site.app.namespace if site.app is not None else ""


def _heirs(site: Site, row: Custom) -> tuple[Custom, ...]:
    following = lineage.heir(site, row)
    return (following,) if following is not None else ()


def _matters(loop: Loop, site: Site, row: Custom, others: tuple[Custom, ...]) -> bool:
    """Whether anything would be done about what it owns."""
    if site.going or (row.deleting and is_untouched(row)):
        return False
    if loop is Loop.UPGRADE:
        return bool(others) and not row.deleting and holds(row, About.INSTALLED)
    return bool(row.deleting) or (bool(others) and lineage.is_done(site, others[0]))


def site_of(snapshot: Snapshot, namespace: str, app_type: str) -> Site:
    """An AppType and its versions."""
    rows = [
        one
        for one in snapshot.customs(kinds.OPERATOR_VERSION)
        if one.namespace == namespace and version_of(one).spec.app_type == app_type
    ]
    space = snapshot.find(Namespace, namespace)
    return Site(
        app=snapshot.custom(kinds.APP_TYPE, app_type, namespace),
        versions=lineage.in_order(rows),
        going=space is not None and bool(space.deleting),
        stale=snapshot.stale(kinds.APP_TYPE, kinds.OPERATOR_VERSION, kinds.DEPLOYMENT, kinds.NAMESPACE),
    )


def _packages(app_types: Iterable[Custom]) -> frozenset[tuple[str, str]]:
    return frozenset((one.namespace, app_of(one).spec.package) for one in app_types)


def _taken(snapshot: Snapshot, namespace: str, app_type: str) -> frozenset[str]:
    return frozenset(
        one.name
        for one in snapshot.customs(kinds.OPERATOR_VERSION)
        if one.namespace == namespace and version_of(one).spec.app_type != app_type
    )


def _crds(snapshot: Snapshot, names: Iterable[str]) -> dict[str, CustomResourceDefinition]:
    found = {name: snapshot.find(CustomResourceDefinition, name) for name in names}
    return {name: row for name, row in found.items() if row is not None}


def _needed(snapshot: Snapshot, of: Custom) -> dict[str, tuple[Needed, ...]]:
    """What running operators of other AppTypes require of definitions."""
    found: dict[str, list[Needed]] = {}
    mine = (of.namespace, version_of(of).spec.app_type)
    for one in snapshot.customs(kinds.OPERATOR_VERSION):
        spec = version_of(one).spec
        if (one.namespace, spec.app_type) == mine or one.deleting or not holds(one, About.INSTALLED):
            continue
        for each in spec.required_crds:
            if not each.optional:
                found.setdefault(each.name, []).append(Needed(each.version, f"{one.namespace}/{one.name}"))
    return {name: tuple(needs) for name, needs in found.items()}


def _running(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for one in snapshot.customs(kinds.OPERATOR_VERSION):
        if holds(one, About.INSTALLED) and not one.deleting:
            found.setdefault(version_of(one).spec.package, []).append(version_of(one).spec.version)
    return {package: tuple(sorted(versions)) for package, versions in found.items()}


def turn(snapshot: Snapshot) -> str:
    """Why nothing new is begun while the cluster is upgraded."""
    told = (turn_of(row.object) for row in snapshot.customs(kinds.UPGRADE_CONFIG))
    return next((one for one in told if one), "")


def _usher(snapshot: Snapshot, key: Key) -> UsherView:
    """All keys of an AppType, or of a namespace; of the cluster those that may wait for others; of a
    definition those of versions that bring or require it."""
    every = tuple(snapshot.customs(kinds.OPERATOR_VERSION))
    if key.name and not key.namespace:
        meant = [one for one in every if _knows(one, key.name)]
        return UsherView(tuple(Key(Loop.INSTALL, one.namespace, one.name) for one in meant))
    apps, versions = list(snapshot.customs(kinds.APP_TYPE)), list(every)
    if key.namespace:
        apps = [one for one in apps if one.namespace == key.namespace]
        versions = [one for one in versions if one.namespace == key.namespace]
    if key.name:
        meant = {key.name, *(version_of(one).spec.app_type for one in versions if one.name == key.name)}
        apps = [one for one in apps if one.name in meant]
        versions = [one for one in versions if version_of(one).spec.app_type in meant]
    if not key.namespace:
        versions = [one for one in versions if not _is_settled(one)]
    found = [Key(loop, one.namespace, one.name) for one in apps for loop in OF_APP_TYPE]
    found += [Key(loop, one.namespace, one.name) for one in versions for loop in OF_VERSION]
    more = _definitions_of(snapshot, versions) if key.namespace else _of_the_cluster(snapshot)
    return UsherView((*found, *more))


def _knows(one: Custom, crd: str) -> bool:
    spec = version_of(one).spec
    return any(each.name == crd for each in (*spec.owned_crds, *spec.required_crds))


def _definitions_of(snapshot: Snapshot, versions: Iterable[Custom]) -> list[Key]:
    """Those that were made because one of these requires them: whether it may go on decides whether the
    provider is asked for."""
    required = {each.name for one in versions for each in version_of(one).spec.required_crds}
    made = (row for row in _crds(snapshot, sorted(required)).values() if row.labels.get(REQUIRED) == "true")
    return [Key(Loop.CRD, "", row.name) for row in made]


def _is_settled(one: Custom) -> bool:
    """Whether it runs and nobody takes over from it: it waits for nobody."""
    return holds(one, About.INSTALLED) and not one.deleting and version_of(one).status.replaced_by is None


def _of_the_cluster(snapshot: Snapshot) -> list[Key]:
    rows = snapshot.all(CustomResourceDefinition)
    crds = [Key(Loop.CRD, "", one.name) for one in rows if one.labels.get(REQUIRED) == "true"]
    return crds + [Key(Loop.SOURCE, "", one.name) for one in snapshot.customs(kinds.OPERATOR_CATALOG)]


def matters_to_turn(row: Custom) -> object:
    """What of an UpgradeConfig decides whose turn it is."""
    return turn_of(row.object)
