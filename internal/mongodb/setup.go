package mongodb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ForeignSetup lists what other software has set up on the collections: MongoDB then rejects documents
// of Holdfast, deletes them, or compares them otherwise. Behind a colon each entry says what to do:
// Holdfast removes nothing that is not its own. It only reads.
func ForeignSetup(ctx context.Context, db *DB, collections ...Collection) (advice []string, err error) {
	ours := map[string]Collection{}
	for _, c := range collections {
		known := ours[c.Name]
		c.Indexes = slices.Concat(known.Indexes, c.Indexes)
		if c.Validator == nil {
			c.Validator = known.Validator
		}
		ours[c.Name] = c
	}
	specs, err := db.ListCollectionSpecifications(ctx, In("name", slices.Sorted(maps.Keys(ours))))
	if err != nil {
		return nil, Translate(err)
	}
	for _, spec := range specs {
		mayValidate := ours[spec.Name].Validator != nil || ours[spec.Name].ForeignValidator
		advice = append(advice, foreignOptions(spec.Name, spec.Type, spec.Options, mayValidate)...)
		indexes, err := db.indexesOf(ctx, spec.Name) // none of a view
		if err != nil && !refusedSchema(err) {
			return nil, Translate(err)
		}
		advice = append(advice, foreignIndexes(spec.Name, indexes, ours[spec.Name].Indexes)...)
	}
	slices.Sort(advice)
	return advice, nil
}

// foreignOptions is the advice for the options of a collection. validated: a validator is no fault.
func foreignOptions(name, kind string, have bson.Raw, validated bool) (advice []string) {
	if kind != "collection" {
		return []string{fmt.Sprintf("%s is a %s, which can't keep Holdfast's documents: drop it by db.%s.drop(), and start a process, "+
			"which makes the collection", name, kind, name)}
	}
	tell := func(what, do string) { advice = append(advice, name+" "+what+": "+do) }
	replace := strings.ReplaceAll("stop all processes, replace it by a copy, which has no options, by "+
		`db.NAME.aggregate([{$out: "NAME_copy"}]); db.NAME_copy.renameCollection("NAME", true), `+
		"and start them, which makes its indexes", "NAME", name)
	if isCapped, _ := have.Lookup("capped").BooleanOK(); isCapped {
		tell("is capped, so MongoDB rejects its changes, and deletes its oldest documents", replace)
	}
	if locale, hasCollation := have.Lookup("collation", "locale").StringValueOK(); hasCollation && locale != "simple" {
		tell("has a collation, so text is compared otherwise, and searches don't use Holdfast's indexes", replace)
	}
	validator, _ := have.Lookup("validator").DocumentOK()
	level, _ := have.Lookup("validationLevel").StringValueOK()
	action, _ := have.Lookup("validationAction").StringValueOK()
	if elements, _ := validator.Elements(); !validated && len(elements) > 0 && level != "off" && action != "warn" {
		tell("has a validator that is not Holdfast's, and may reject its documents",
			"lift it by db.runCommand("+shell(bson.D{{Key: "collMod", Value: name}, {Key: "validator", Value: bson.D{}}})+")")
	}
	return advice
}

// foreignIndexes is the advice for the indexes of a collection. No document violates an index with _id,
// and DropRetired cares for those of other versions.
func foreignIndexes(collection string, have map[string]bson.Raw, ours []Index) (advice []string) {
	for name, index := range have {
		_, hasID := index.Lookup("key", "_id").AsInt64OK()
		isOurs := slices.ContainsFunc(ours, func(i Index) bool { return i.matches(index) })
		if isOurs || strings.HasPrefix(name, indexPrefix) {
			continue
		}
		command := fmt.Sprintf("db.%s.dropIndex(%q)", collection, name)
		isPartial := index.Lookup("partialFilterExpression").Type != 0
		if isUnique, _ := index.Lookup("unique").BooleanOK(); isUnique && !hasID {
			advice = append(advice, fmt.Sprintf("the unique index %q of %s is not Holdfast's, and rejects its documents: drop it by %s",
				name, collection, command))
		}
		if _, deletes := index.Lookup("expireAfterSeconds").AsInt64OK(); deletes && !isPartial {
			advice = append(advice, fmt.Sprintf("the index %q of %s deletes documents, and is not Holdfast's: drop it by %s",
				name, collection, command))
		}
	}
	return advice
}
